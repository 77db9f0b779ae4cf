"""Turns with tools in a call with sound: times of the model's requests, and order of playback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings, turn_detection
from fake_client import FakeClient
from scripted_llm import ScriptedLlm
from structlog.testing import capture_logs
from typed_call import Deaf

from audio.synthesizers import Speech
from llmcore.engine import Delta, ToolCall
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts
from voiceagent.agents import Agent, tool
from voiceagent.agents.running import RunningAgent
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.history import CANCELLED_BY_MODEL, MessageItem
from voiceagent.session.session import Session

WORDS = "Let me look that up. "


class Clerk(Agent):
    cancelled = False

    @tool
    async def look(self) -> str:
        """Look it up."""
        return "found"

    @tool(model_may_cancel=True)
    async def search(self) -> str:
        """Search until cancelled."""
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled = True
        return "never"


class Voice(Deaf):
    """Synthesizer of half a second of sound for each fragment, once it may speak."""

    def __init__(self) -> None:
        self.may_speak = asyncio.Event()

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        await self.may_speak.wait()
        yield Speech(np.ones(self.rate_hz // 2, np.int16))


class Call:
    """A call to the clerk, with a first question. spoken: the caller will speak it, it is not typed."""

    def __init__(self, *scripts: list[object], spoken: bool = False) -> None:
        self._detection = turn_detection(kind="semantic_vad") if spoken else None
        self.llm, self.client, self.voice = ScriptedLlm(*scripts), FakeClient(), Voice()
        self._agent = AgentConfig(apology="Sorry.", filler="")

    async def __aenter__(self) -> Call:
        silent = Voice()
        silent.may_speak.set()  # the apology is synthesised before the call
        breaker = CircuitBreaker(3, Backoff(60.0, 60.0), lambda: 1.0)
        llm = FallbackLlm(self.llm, None, breaker, TimeOuts(5.0, 5.0), lambda reason: None)
        services = await call_services(Deaf(), llm, silent, agent=self._agent)
        silent.may_speak = self.voice.may_speak
        settings = call_settings(turn_detection=self._detection, latency_events=True)
        self.agent = agent = RunningAgent("call_1", Clerk)
        self.session = Session("call_1", services, settings, self.client, agent=agent)
        self.session.begin()
        if self._detection is None:
            self.session.handle(ev.ItemCreated(MessageItem("asked", "user", "is there tea")))
            self.session.handle(ev.ResponseRequested())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close("tested")

    async def asked(self, times: int) -> None:
        """Wait until the model has had this many requests."""
        async with asyncio.timeout(20):
            while len(self.llm.requests) < times:  # noqa: ASYNC110 - no notification tells of it
                await asyncio.sleep(0.001)

    @property
    def ended(self) -> list[notify.NotifyResponseEnded]:
        return self.client.of(notify.NotifyResponseEnded)


def calls(number: int = 1, name: str = "look", arguments: str = "{}") -> Delta:
    return Delta(tool_calls=(ToolCall(f"call_{number}", name, arguments),))


async def test_the_model_is_asked_about_a_result_at_once_and_heard_when_the_words_before_are_over() -> None:
    async with Call([WORDS, calls()], ["There is tea."]) as call:
        call.voice.may_speak.set()
        await call.asked(2)
        assert not call.ended, "the words were played before the model was asked"
        told = call.llm.requests[1].messages
        assert [(one.role, one.content, len(one.tool_calls)) for one in told] == [
            ("user", "is there tea", 0),
            ("assistant", WORDS.strip(), 1),
            ("tool", "found", 0),
        ]
        await call.client.until(lambda: len(call.client.reports) == 2)
        order = [response_id for response_id, _ in call.client.frames]
        words, answer = dict.fromkeys(order)
        assert order == sorted(order, key=[words, answer].index)
        assert [one.text for one in call.client.of(notify.NotifyResponseText)] == [WORDS, "There is tea."]
        counts = call.client.reports[1].counts
        assert (counts.preemptive_attempts, counts.preemptive_hits) == (1, 1)
    assert len(call.llm.requests) == 2


async def test_the_model_is_asked_before_its_words_have_any_sound() -> None:
    async with Call([WORDS, calls()], ["There is tea."]) as call:
        await call.asked(2)
        assert not call.client.frames
        call.voice.may_speak.set()
        await call.client.until(lambda: len(call.ended) == 2)
    assert len(call.llm.requests) == 2


async def test_a_call_that_is_held_after_a_doubtful_end_runs_a_little_later() -> None:
    async with Call([calls()], ["At six."], spoken=True) as call:
        call.session.post(ev.PreemptiveAllowed(False))
        call.session.post(ev.SpeechStarted(1.0))
        (turn,) = call.client.of(notify.NotifySpeechStarted)
        call.session.post(ev.SpeechPaused(2.0))
        call.session.post(ev.TranscriptChanged(turn.item_id, "A taxi at six,", settled=True))
        call.session.post(ev.TurnEnded(2.0, silent_to_s=2.5))
        await call.asked(2)
        assert call.llm.requests[1].messages[-1].content == "found"


async def test_a_line_break_before_a_call_is_no_message_of_the_client() -> None:
    async with Call(["\n", calls()], ["There is tea."]) as call:
        call.voice.may_speak.set()
        await call.client.until(lambda: len(call.ended) == 2)
        assert [one.text for one in call.client.of(notify.NotifyResponseText)] == ["There is tea."]


async def test_a_model_that_calls_in_circles_ends_in_one_apology_and_one_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(AgentConfig, "max_tool_rounds", 2)
    with capture_logs() as logs:
        async with Call([calls()]) as call:
            call.voice.may_speak.set()
            await call.client.until(lambda: any(end.status == "failed" for end in call.ended))
            async with asyncio.timeout(20):
                while not call.session.idle:  # noqa: ASYNC110 - no notification tells of it
                    await asyncio.sleep(0.01)
    assert [request.tool_choice for request in call.llm.requests] == ["auto", "auto", "none"]
    assert [one.text.strip() for one in call.client.of(notify.NotifyResponseText)] == ["Sorry."]
    (warning,) = [line for line in logs if line["log_level"] == "warning"]
    assert warning["event"] == "response_failed"
    assert "it calls tools without end" in warning["reason"]


async def test_a_tool_that_the_model_cancels_stops_and_the_model_is_asked_about_that() -> None:
    stop = calls(2, "cancel_tool", '{"tool": "search"}')
    with capture_logs() as logs:
        async with Call([WORDS, calls(1, "search")], [stop], ["I stopped."]) as call:
            call.voice.may_speak.set()
            await call.client.until(lambda: len(call.ended) == 1)
            call.session.handle(ev.ItemCreated(MessageItem("stops", "user", "never mind")))
            call.session.handle(ev.ResponseRequested())
            await call.client.until(lambda: len(call.ended) == 3)
            agent = call.agent.agent
            assert isinstance(agent, Clerk) and agent.cancelled
    assert [one.text.strip() for one in call.client.of(notify.NotifyResponseText)] == [
        WORDS.strip(),
        "I stopped.",
    ]
    offered = [[tool.name for tool in request.tools] for request in call.llm.requests]
    assert offered == [["look", "search"], ["look", "search", "cancel_tool"], ["look", "search"]]
    assert [(line["tool"], line["outcome"], line["reason"]) for line in logs if line["event"] == "tool"] == [
        ("search", "cancelled", "the model cancelled it")
    ]
    told = [message.content for message in call.llm.requests[-1].messages if message.role == "tool"]
    assert told == [CANCELLED_BY_MODEL, "cancelled"]


async def test_a_call_made_twice_with_the_same_result_is_answered_and_not_made_again() -> None:
    async with Call([calls(1)], [calls(2)], ["There is tea."]) as call:
        call.voice.may_speak.set()
        await call.asked(3)
        assert [one.tool_choice for one in call.llm.requests] == ["auto", "auto", "none"]


async def test_a_model_that_says_nothing_after_a_result_must_say_something() -> None:
    async with Call([calls()], [], ["There is tea."]) as call:
        call.voice.may_speak.set()
        await call.client.until(lambda: len(call.ended) == 2)
        assert [one.tool_choice for one in call.llm.requests] == ["auto", "auto", "none"]
        assert [one.text for one in call.client.of(notify.NotifyResponseText)] == ["There is tea."]


async def test_an_answer_spoken_before_its_tool_ends_without_an_apology() -> None:
    async with Call(["I'll look. ", calls()], [], []) as call:
        call.voice.may_speak.set()
        await call.client.until(lambda: len(call.ended) == 2)
        assert [one.status for one in call.ended] == ["completed", "completed"]
        assert [one.text for one in call.client.of(notify.NotifyResponseText)] == ["I'll look. "]
        call.session.handle(ev.ItemCreated(MessageItem("again", "user", "and coffee")))
        call.session.handle(ev.ResponseRequested())
        await call.asked(4)
