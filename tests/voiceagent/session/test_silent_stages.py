"""A stage that hangs, or raises an unexpected error, ends its turn in an apology; the call continues."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from call_services import call_services
from call_settings import call_settings
from fake_client import FakeClient

from audio.pcm import Samples
from audio.recognizers import Flush, Hypothesis
from audio.synthesizers import Speech
from llmcore.engine import Delta, Request, Usage
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.session.deadlines import StageLimits
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics

SOON_S = 0.3
LIMITS = StageLimits(transcript_s=SOON_S, first_token_s=SOON_S, token_s=SOON_S, first_audio_s=SOON_S)
APOLOGY = "Sorry."


class Engine:
    """Recognizer, LLM and synthesizer in one; a test chooses the part that fails.

    silent: the part that hangs: "recognizer", "llm", "further token", "synthesizer" or "further sound".
    raises: the part that fails with an unexpected error.
    """

    rate_hz = 24_000

    def __init__(self, silent: str = "", raises: str = "") -> None:
        self.silent = silent
        self.raises = raises

    async def recognize(self, sound: AsyncIterator[Samples | Flush]) -> AsyncGenerator[Hypothesis, None]:
        async for piece in sound:
            if isinstance(piece, Flush):
                await self._at("recognizer")
                yield Hypothesis("Help me.", "Help me.", settled=True)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        await self._at("llm")
        yield Delta("Sure. ")
        await self._at("further token")
        yield Delta("I can.", finish_reason="stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """There is no cache."""

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        said = APOLOGY in text
        if not said:
            await self._at("synthesizer")
        yield Speech(np.ones(2_400, np.int16))
        if not said:
            await self._at("further sound")
        yield Speech(np.ones(2_400, np.int16))

    async def _at(self, place: str) -> None:
        if place == self.raises:
            raise ZeroDivisionError(place)
        if place == self.silent:
            await asyncio.Event().wait()


async def call(engine: Any, metrics: Metrics | None = None) -> tuple[Session, FakeClient]:
    """A call that has begun, whose turns the client takes by hand."""
    client = FakeClient()
    services = await call_services(
        engine,
        engine,
        engine,
        agent=AgentConfig(apology=APOLOGY, filler=""),
        metrics=metrics,
        settings=call_settings(turn_detection=None),
    )
    services = replace(services, limits=LIMITS)
    session = Session("call", services, services.settings, client)
    session.begin()
    return session, client


async def turn(session: Session, client: FakeClient) -> notify.NotifyResponseEnded:
    """Say something, and how the response to it ends."""
    ended = len(client.of(notify.NotifyResponseEnded))
    session.hear(np.zeros(2_400, np.int16))
    session.handle(ev.InputCommitted(0.0))
    session.handle(ev.ResponseRequested())
    await client.until(lambda: len(client.of(notify.NotifyResponseEnded)) > ended)
    return client.of(notify.NotifyResponseEnded)[-1]


@pytest.mark.parametrize("stage", ["llm", "further token", "synthesizer", "further sound"])
async def test_a_silent_stage_ends_the_response_in_an_apology(stage: str) -> None:
    engine = Engine(silent=stage)
    session, client = await call(engine)
    ended = await turn(session, client)
    assert ended.status == "failed"
    assert "within" in ended.reason
    assert APOLOGY in client.of(notify.NotifyResponseText)[-1].text
    engine.silent = ""
    assert (await turn(session, client)).status == "completed"
    await session.close("over")


async def test_a_recognizer_that_does_not_settle_fails_its_turn_and_no_other() -> None:
    engine = Engine(silent="recognizer")
    session, client = await call(engine)
    session.hear(np.zeros(2_400, np.int16))
    session.handle(ev.InputCommitted(0.0))
    await client.until(lambda: client.of(notify.NotifyTranscriptFailed))
    assert "no settled words within" in client.of(notify.NotifyTranscriptFailed)[0].reason
    engine.silent = ""
    session.hear(np.zeros(2_400, np.int16))
    session.handle(ev.InputCommitted(0.0))
    await client.until(lambda: client.of(notify.NotifyTranscript))
    await session.close("over")


@pytest.mark.parametrize("place", ["recognizer", "llm", "synthesizer"])
async def test_an_exception_that_nobody_expects_is_counted_and_the_call_goes_on(place: str) -> None:
    engine, metrics = Engine(raises=place), Metrics()
    session, client = await call(engine, metrics)
    await turn(session, client)
    counted = [sample.value for family in metrics.call_faults.collect() for sample in family.samples]
    assert 1.0 in counted
    engine.raises = ""
    assert (await turn(session, client)).status == "completed"
    await session.close("over")


async def test_a_stage_that_hangs_does_not_hold_the_calls_end() -> None:
    class Stubborn(Engine):
        async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
            while True:
                try:
                    await asyncio.sleep(30)
                except asyncio.CancelledError:
                    if over.is_set():
                        raise
            yield Delta("never")

    over = asyncio.Event()
    session, client = await call(Stubborn())
    session.handle(ev.ResponseRequested())
    await client.until(lambda: client.of(notify.NotifyResponseStarted))
    async with asyncio.timeout(20):
        await session.close("over")
    over.set()
