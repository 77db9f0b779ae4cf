"""Warm-up: one turn through every stage before the first caller. It loads what loads lazily, and shows that
everything works.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace

import numpy as np
import structlog

from audio.pcm import Samples
from audio.resample import Resampler
from audio.synthesizers import Synthesizer
from llmcore.engine import LlmError, Message, Request
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import CallEvent, EventHandled
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.prompting.request import make_prompt
from voiceagent.session.publishing import Subscriptions
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics

log = structlog.get_logger()

QUESTION = "Hello, what can you do for me?"
TIMEOUT_S = 180.0
"""On two slow, busy cores a model of 1.5 B in 4 bits reads a prompt of 540 tokens in up to a minute."""
SLOW_S = 1.0
"""A response that failed after more, and was not refused, ran into a time-out."""
PAUSE_S = 1.0
"""Pause before a turn is repeated."""


class WarmUpError(Exception):
    """The warm-up turn failed. The text says in which stage and why."""


class _TimedOut(WarmUpError):
    """The LLM was too slow, and may be fast enough once it has loaded its model."""


class _Refused(WarmUpError):
    """The LLM refuses the request, and would refuse it again."""


class _Caller:
    """Client that waits for a transcript, then for audio, then for the turn's report. It receives the call's
    events too.

    asked_s: time of the request for a response. is_slow: the response failed long after it.
    is_refused: the LLM refused the request.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        loop = asyncio.get_running_loop()
        self.transcribed: asyncio.Future[None] = loop.create_future()
        self.audio_received: asyncio.Future[None] = loop.create_future()
        self.reported: asyncio.Future[TurnReport] = loop.create_future()
        self.failure = ""
        self.asked_s = clock()
        self.is_slow = False
        self.is_refused = False

    def on_event(self, event: CallEvent) -> None:
        match event:
            case EventHandled(ev.ResponseFailed(permanent=permanent)):
                self.is_refused = permanent

    def notify(self, notification: notify.Notification) -> None:
        match notification:
            case notify.NotifyTranscript(final=True):
                _resolve(self.transcribed)
            case notify.NotifyTranscriptFailed(reason=reason):
                self.failure = f"recognizer: {reason}"
                _resolve(self.transcribed)
            case notify.NotifyResponseEnded(status="failed", reason=reason):
                self.failure = reason
                self.is_slow = self._clock() - self.asked_s >= SLOW_S
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        _resolve(self.audio_received)

    def clear(self) -> None:
        pass

    def report(self, turn: TurnReport) -> None:
        if not self.reported.done():
            self.reported.set_result(turn)
        _resolve(self.audio_received)  # a response without audio is over too


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def warm_up(services: Services, timeout_s: float = TIMEOUT_S) -> dict[str, float]:
    """Speak a question to the agent and wait for the beginning of its answer. Return the seconds of each
    stage.

    timeout_s: timeout; until then a turn whose response runs into a time-out is repeated, as Ollama and
    others load a model at the first request. Raises WarmUpError, SynthesizerError.
    """
    began_s = services.measuring.clock()
    is_slow = False
    while True:
        left_s = timeout_s - (services.measuring.clock() - began_s)
        try:
            # a task of its own: the log lines of the one that starts the server must not name this call
            return await asyncio.create_task(_warm_up_call(services, left_s), name="warm-up")
        except WarmUpError as error:
            is_slow = is_slow or isinstance(error, _TimedOut)
            is_late = services.measuring.clock() - began_s + PAUSE_S >= timeout_s
            if isinstance(error, _Refused) or not is_slow or is_late:
                raise
            log.warning("warm_up_repeated", reason=str(error))
            await asyncio.sleep(PAUSE_S)


async def _warm_up_call(services: Services, timeout_s: float) -> dict[str, float]:
    if services.answering.policy.llm_end is not None:
        await _warm_up_turn_end(services, timeout_s)
    measuring = replace(services.measuring, metrics=Metrics(log_turns=False))  # not a caller's turn
    # a filler's audio would end the turn before a slow LLM has read the prompt
    speaking = replace(services.speaking, filler=None)
    services = replace(services, measuring=measuring, speaking=speaking)
    manual = replace(services.settings, turn_detection=None, latency_events=True, output_modality="audio")
    caller = _Caller(services.measuring.clock)
    session = Session("warm-up", services, manual, caller, Subscriptions((caller,)))
    turn = asyncio.create_task(_run_turn(session, caller, services))
    ended = asyncio.create_task(session.ended())
    try:
        await asyncio.wait({turn, ended}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        if not turn.done():
            why = "broke off; the log says why" if ended.done() else f"was not over after {timeout_s:.0f} s"
            raise WarmUpError(f"the warm-up turn {why}")
        latency = await turn
    finally:
        turn.cancel()
        await session.close("warmed up")
        await asyncio.gather(turn, ended, return_exceptions=True)
    if caller.failure:
        kind = _Refused if caller.is_refused else _TimedOut if caller.is_slow else WarmUpError
        raise kind(f"the warm-up turn failed: {caller.failure}")
    log.info("warm_up", **{f"{stage}_ms": round(seconds * 1000, 1) for stage, seconds in latency.items()})
    return latency


async def _warm_up_turn_end(services: Services, timeout_s: float) -> None:
    """Ask the LLM once for an end-of-turn score: the first request lets vLLM compile a function for seconds,
    during which it serves no request.
    """
    prompt = make_prompt(services.settings.instructions, (Message("user", QUESTION),))
    request = Request(prompt, services.settings.all_tools, priority_class="prefill", asks_end=True)
    with suppress(LlmError, TimeoutError):  # the turn that follows fails the same way, and reports it
        async with asyncio.timeout(timeout_s):
            await services.answering.llm.prefill(request)


async def _run_turn(session: Session, caller: _Caller, services: Services) -> dict[str, float]:
    session.hear(await _question_audio(services.speaking.synthesizer, session.settings.input_format.rate_hz))
    committed_s = services.measuring.clock()
    session.handle(ev.InputCommitted(0.0))
    caller.asked_s = services.measuring.clock()
    session.handle(ev.ResponseRequested(messages=(Message("user", QUESTION),)))
    await caller.transcribed
    recognition_s = services.measuring.clock() - committed_s
    await caller.audio_received
    session.handle(ev.ResponseCancelled())
    report = await caller.reported
    return {"recognition": recognition_s} | {stage.name: stage.duration_s for stage in report.stages}


async def _question_audio(synthesizer: Synthesizer, rate_hz: int) -> Samples:
    """Return the question in the agent's own voice, at `rate_hz`."""
    resampler = Resampler(synthesizer.rate_hz, rate_hz)
    chunks = []
    async with aclosing(synthesizer.speak(QUESTION)) as speeches:
        async for speech in speeches:
            chunks.append(resampler.push(speech.samples))
    return np.concatenate([*chunks, resampler.push(np.zeros(0, np.int16), last=True)])
