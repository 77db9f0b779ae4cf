"""An engine whose answers a second one reviews."""

from __future__ import annotations

import re
from dataclasses import replace

from scripted_llm import ScriptedLlm

from llmcore.engine import Llm, Message, Request
from llmcore.policies.review import review_messages
from llmcore.policies.set_answers import SetAnswer
from llmcore.serving.joined_engines import ReviewedLlm, SetAnswersLlm

ASK = Request((Message("user", "Hello?"),))
REVIEW = replace(ASK, messages=review_messages(ASK.messages, "Hi."), priority_class="review")


async def text(llm: Llm, request: Request) -> str:
    return "".join([delta.text async for delta in llm.generate(request)])


async def test_reviews_go_to_the_back_and_all_else_to_the_front() -> None:
    front, back = ScriptedLlm(["Hi."]), ScriptedLlm(["RIGHT"])
    both = ReviewedLlm(front, back)
    await both.start()
    assert (await text(both, ASK), await text(both, REVIEW)) == ("Hi.", "RIGHT")
    await both.prefill(ASK)
    await both.close()
    assert (front.requests, back.requests) == ([ASK], [REVIEW])
    assert len(front.prefills) == 1 and not back.prefills
    assert (front.started, back.started, front.closed, back.closed) == (1, 1, 1, 1)


async def test_set_answer_is_never_contradicted() -> None:
    back = ScriptedLlm(["WRONG: Bye."])
    answers = [SetAnswer(re.compile("hello", re.IGNORECASE), "Hi.")]
    llm = SetAnswersLlm(ReviewedLlm(ScriptedLlm(["no"]), back), answers)
    assert await text(llm, REVIEW) == "RIGHT" and not back.requests
