"""Set answers in front of an engine."""

from __future__ import annotations

import re
from dataclasses import replace

from scripted_llm import ScriptedLlm

from llmcore.engine import Delta, Llm, Message, Request, Tool
from llmcore.policies.review import review_messages
from llmcore.policies.set_answers import SetAnswer
from llmcore.serving.joined_engines import ReviewedLlm, SetAnswersLlm

HOURS = SetAnswer(re.compile("open"), "From nine to five.")


def asked(words: str, **options: object) -> Request:
    return Request((Message("user", words),), **options)  # type: ignore[arg-type] - a test's shorthand


async def read(llm: SetAnswersLlm, request: Request) -> list[Delta]:
    return [delta async for delta in llm.generate(request)]


async def test_a_set_answer_is_given_without_the_engine() -> None:
    engine = ScriptedLlm(["by the model"])
    deltas = await read(SetAnswersLlm(engine, [HOURS]), asked("When are you open?"))
    assert "".join(delta.text for delta in deltas) == "From nine to five."
    assert deltas[-1].finish_reason == "stop"
    assert deltas[-1].usage is not None
    assert engine.requests == []


async def test_other_words_and_demanded_tools_go_to_the_engine() -> None:
    engine = ScriptedLlm(["by the model"])
    llm = SetAnswersLlm(engine, [HOURS])
    demanded = asked("When are you open?", tools=(Tool("look", ""),), tool_choice="look")
    for request in (asked("Hello."), demanded):
        assert "".join(delta.text for delta in await read(llm, request)) == "by the model"
    assert len(engine.requests) == 2


async def test_the_prompt_is_read_also_where_an_answer_is_set() -> None:
    engine = ScriptedLlm()
    await SetAnswersLlm(engine, [HOURS]).prefill(asked("When are you open"))
    assert len(engine.prefills) == 1


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
