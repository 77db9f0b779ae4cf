"""Calls whose LLM is a chat completions server with scripted answers, and the words their callers hear."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings
from chat_server import chunk
from fake_client import FakeClient
from quirky_server import DONE, QuirkyServer, broken, refused, reply, streamed

from audio.synthesizers import Speech
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker
from llmcore.serving.fallback_engine import FallbackLlm, TimeOuts
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.conversation.latency import TurnReport
from voiceagent.engines.silent import SilentRecognizer, SilentSynthesizer
from voiceagent.session.session import Session
from voiceagent.session.set_phrases import make_phrase

APOLOGY, REFUSAL = "Sorry.", "I cannot help with that."
AGENT = AgentConfig(apology=APOLOGY, refusal=REFUSAL, filler="")


class Tone(SilentSynthesizer):
    """Synthesizer that speaks any text as a tone of 0.1 s."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(np.ones(2_400, np.int16))


class Callers:
    """Calls that share one LLM, including its circuit breaker."""

    def __init__(self, llm: FallbackLlm) -> None:
        self.llm = llm
        self._sessions: list[Session] = []

    async def call(self) -> tuple[Session, FakeClient]:
        """Return a call that has begun."""
        voice, client = Tone(), FakeClient()
        settings = call_settings(turn_detection=None, latency_events=True)
        services = await call_services(SilentRecognizer(), self.llm, voice, agent=AGENT, settings=settings)
        refusal = await make_phrase(REFUSAL, "en", voice)
        services = replace(services, speaking=replace(services.speaking, refusal=refusal))
        session = Session("call", services, services.settings, client)
        session.begin()
        self._sessions.append(session)
        return session, client

    async def close(self) -> None:
        """End all calls."""
        for session in self._sessions:
            await session.close("over")
        await self.llm.close()


@pytest.fixture
async def server() -> AsyncIterator[QuirkyServer]:
    server = QuirkyServer()
    async with server.serving():
        yield server


@pytest.fixture
async def callers(server: QuirkyServer) -> AsyncIterator[Callers]:
    engine = OpenAILlm("tiny", server.address, api_key_env="", retries=0)
    breaker = CircuitBreaker(3, Backoff(60.0, 60.0), lambda: 1.0)
    callers = Callers(FallbackLlm(engine, None, breaker, TimeOuts(5.0, 5.0), lambda reason: None))
    await callers.llm.start()
    yield callers
    await callers.close()


async def heard(session: Session, client: FakeClient) -> str:
    """Return the words that the caller hears in one turn."""
    ended, before = len(client.of(notify.NotifyResponseEnded)), len(client.of(notify.NotifyResponseText))
    session.hear(np.zeros(2_400, np.int16))
    session.handle(ev.InputCommitted(0.0))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > ended)
    return "".join(text.text for text in client.of(notify.NotifyResponseText)[before:]).strip()


@pytest.mark.parametrize(
    "answer",
    [
        reply([""], "content_filter"),
        refused(403, message="flagged by moderation"),
        refused(400, code="content_filter"),
    ],
)
async def test_what_a_filter_refuses_is_said_so_and_costs_no_other_caller_a_turn(
    server: QuirkyServer, callers: Callers, answer: object
) -> None:
    one, other = await callers.call(), await callers.call()
    for _ in range(4):
        server.answers = [answer]  # type: ignore[list-item]
        assert await heard(*one) == REFUSAL
        server.answers = [reply(["Hello."])]
        assert await heard(*other) == "Hello."
    assert callers.llm.problem == ""


async def test_errors_inside_streams_cost_no_other_caller_a_turn(
    server: QuirkyServer, callers: Callers
) -> None:
    one, other = await callers.call(), await callers.call()
    for _ in range(4):
        server.answers = [streamed({"error": {"message": "provider gone"}})]
        assert await heard(*one) == APOLOGY
        server.answers = [reply(["Hello."])]
        assert await heard(*other) == "Hello."


async def test_a_server_that_keeps_breaking_its_streams_is_left_alone(
    server: QuirkyServer, callers: Callers
) -> None:
    call = await callers.call()
    server.answers = [broken()]
    assert [await heard(*call) for _ in range(3)] == [APOLOGY] * 3
    assert callers.llm.problem


async def test_an_empty_reply_is_asked_for_again_and_then_apologised_for(
    server: QuirkyServer, callers: Callers
) -> None:
    call = await callers.call()
    server.answers = [reply([]), reply(["Hello."]), reply(["..."])]
    assert [await heard(*call), await heard(*call)] == ["Hello.", APOLOGY]
    assert len(server.bodies) == 4


async def test_time_spent_thinking_is_a_stage_of_the_turn(server: QuirkyServer, callers: Callers) -> None:
    session, client = await callers.call()
    server.answers = [
        streamed(*[chunk({"reasoning": "Hm. "})] * 3, chunk({"content": "Hello."}, "stop"), DONE)
    ]
    assert await heard(session, client) == "Hello."
    (report,) = [turn for turn in client.reports if isinstance(turn, TurnReport)]
    assert [stage.name for stage in report.stages if stage.name in ("llm_ttft", "thinking")] == [
        "llm_ttft",
        "thinking",
    ]
    assert report.counts.thought_tokens == 3
