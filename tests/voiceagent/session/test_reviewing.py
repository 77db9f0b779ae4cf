"""Reviews by the back LLM in a call at work."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from call_services import call_services
from fake_client import FakeClient
from scripted_llm import HANG, ScriptedLlm
from typed_call import Deaf, ask

from audio.synthesizers import Speech
from llmcore.engine import ServerError
from llmcore.serving.joined_engines import ReviewedLlm
from voiceagent.calls.log.codec import Inline, encode
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import ReviewResponse
from voiceagent.conversation.history import MessageItem
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.session import Session

ANSWER = "Breakfast is from six. Come to the hall on the ground floor, next to the garden."
RATE_HZ = 24_000


class Slow(Deaf):
    """A synthesizer whose speech lasts 60 ms a character."""

    async def speak(self, text: str):
        yield Speech(np.ones(round(len(text) * 0.06 * RATE_HZ), np.int16))


class Call:
    """A typed call with this back LLM."""

    def __init__(self, *script: object) -> None:
        self.front, self.back = ScriptedLlm([ANSWER]), ScriptedLlm(list(script))
        self.client = FakeClient()

    async def begin(self, limits: StageLimits | None = None, synthesizer: Deaf | None = None) -> Session:
        llm = ReviewedLlm(self.front, self.back)
        services = await call_services(Deaf(), llm, synthesizer or Slow())
        policy = replace(services.answering.policy, correction="Sorry.")
        services = replace(
            services,
            answering=replace(services.answering, policy=policy),
            limits=limits or StageLimits(),
        )
        settings = replace(services.settings, turn_detection=None)
        session = Session("call_1", services, settings, self.client)
        session.begin()
        return session

    def sent(self, response_id: str) -> int:
        """Return how many samples of a response the client was sent."""
        return sum(len(frame) for one, frame in self.client.frames if one == response_id)


async def until(condition: Callable[[], object]) -> None:
    """Wait until `condition()` holds; the time-out only ends a test that hangs."""
    async with asyncio.timeout(20.0):
        while not condition():  # noqa: ASYNC110 - a session's work has no event
            await asyncio.sleep(0.01)


async def test_caller_hears_withdrawn_words_stop_at_the_played_sample():
    begun = asyncio.Event()
    call = Call(begun, "WRONG: It is from seven.")
    session = await call.begin()
    session.handle(ev.ItemCreated(MessageItem("q", "user", "When is breakfast?")))
    session.handle(ev.ResponseRequested())
    await call.client.until(lambda: len(call.client.frames) > 20)
    begun.set()
    await call.client.until(lambda: len(call.client.of(notify.NotifyResponseEnded)) == 2)
    (first, second) = (ended.response_id for ended in call.client.of(notify.NotifyResponseEnded))
    (truncated,) = call.client.of(notify.NotifyItemTruncated)
    played = round(truncated.played_s * RATE_HZ)
    # nothing of it is sent once it has stopped: at most the lead that the transport drops is unplayed
    assert 0 < played <= call.sent(first) < len(ANSWER) * 0.06 * RATE_HZ / 2
    assert [one for one, _ in call.client.frames] == sorted(
        (one for one, _ in call.client.frames), key=[first, second].index
    )
    await until(lambda: session.idle)
    texts = [
        item.text for item in session.items if isinstance(item, MessageItem) and item.role == "assistant"
    ]
    assert ANSWER.startswith(texts[0]) and texts[1] == "Sorry. It is from seven."
    await session.close("the caller hung up")


async def test_review_has_the_prompt_of_the_answer_and_its_own_class():
    call = Call("RIGHT")
    session = await call.begin(synthesizer=Deaf())
    await ask(session, call.client, 0, "When is breakfast?")
    (asked,), (review,) = call.front.requests, call.back.requests
    assert review.messages[: len(asked.messages)] == asked.messages
    assert (review.priority_class, review.tool_choice, review.caller) == ("review", "none", "call_1")
    await session.close("the caller hung up")


async def test_late_and_failed_reviews_leave_the_answer():
    for script in ([HANG], [ServerError("it broke")]):
        call = Call(*script)
        session = await call.begin(replace(StageLimits(), review_s=0.05), Deaf())
        await ask(session, call.client, 0, "When is breakfast?")
        await until(lambda session=session: session.idle)
        assert len(call.client.of(notify.NotifyResponseEnded)) == 1
        await session.close("the caller hung up")


async def test_hanging_up_and_cancelling_end_the_review():
    for cancels in (True, False):
        call = Call(HANG)
        session = await call.begin()
        session.handle(ev.ItemCreated(MessageItem("q", "user", "When is breakfast?")))
        session.handle(ev.ResponseRequested())
        await until(lambda call=call: call.back.running)
        if cancels:
            session.handle(ev.ResponseCancelled())
            for _ in range(20):
                await asyncio.sleep(0)
            assert call.back.running == 0
        await session.close("the caller hung up")
        assert call.back.running == 0


def test_prompt_of_a_review_is_not_logged_twice():
    assert encode(ReviewResponse("r", "Hi."), Inline()) == {
        "type": "ReviewResponse",
        "response_id": "r",
        "said": "Hi.",
    }
