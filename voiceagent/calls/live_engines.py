"""Live engines for a forked call: a server's, on an event loop that runs only during requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from audio.detection.smart_turn import MAX_TURN_S
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.resample import resample
from audio.synthesizers import Speech
from llmcore.engine import LlmError, Request
from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.recorded_answers import DelayedEvents
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.deadlines import Awaited
from voiceagent.session.llm_work import LlmWork
from voiceagent.session.prefilling import TurnEndScoring
from voiceagent.session.recognition import TurnRecognition
from voiceagent.session.services import Services
from voiceagent.session.turn_stamps import TurnStamps

CHUNK_S = 0.032
"""Length of the chunks given to the recognizer, as in a call."""
_NOTHING: Samples = np.zeros(0, np.int16)


T = TypeVar("T")


class SharedServices:
    """A server's services, which all forked calls share: they take seconds to start.

    start: starts them, at the first request.
    """

    def __init__(self, start: Callable[[], AbstractAsyncContextManager[Services]]) -> None:
        self._start = start
        self._runner = asyncio.Runner()
        self._closing = AsyncExitStack()
        self._services: Services | None = None

    def __enter__(self) -> SharedServices:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._services is not None:
                self._runner.run(self._closing.aclose())
        finally:
            self._runner.close()

    def run(self, work: Callable[[Services], Coroutine[Any, Any, T]]) -> T:
        """Return the result of a coroutine that uses the services. Raises the errors of their start."""

        async def run() -> T:
            if self._services is None:
                self._services = await self._closing.enter_async_context(self._start())
            return await work(self._services)

        return self._runner.run(run())


@dataclass(slots=True)
class _Turn:
    """A turn in recognition. given: position of the recognizer's input, in samples since the call's start."""

    recognition: TurnRecognition
    given: int
    hypotheses: list[tuple[float, ev.Event]] = field(default_factory=list)
    settled: asyncio.Event = field(default_factory=asyncio.Event)


class RunningEngines:
    """`LiveEngines` of one call. services: with its engines.

    log: of the call. sound: the caller's audio, [n] at 16 kHz, None without a recording. The recognizer
    receives it in real time, so that its answers take as long as in a call.
    """

    def __init__(self, services: SharedServices, log: CallLog, sound: Samples | None) -> None:
        self._run = services.run
        self._call_id = log.header.call_id
        self._rate_hz = log.header.rate_hz
        detection = log.header.settings.turn_detection
        self._padding_s = 0.0 if detection is None else detection.prefix_padding_s
        self._sound = _NOTHING if sound is None else sound
        self.hears = sound is not None
        self._turns: dict[str, _Turn] = {}

    def __enter__(self) -> RunningEngines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for item_id in list(self._turns):
            self.end_turn(item_id)

    def response(self, start: do.StartResponse) -> DelayedEvents:
        return self._run(lambda services: self._respond(services, start))

    def summary(self, wanted: do.Summarise) -> DelayedEvents:
        return self._run(lambda services: self._summarise(services, wanted))

    def review(self, wanted: do.ReviewResponse) -> DelayedEvents:
        return self._run(lambda services: self._review(services, wanted))

    def turn_end(self, asked: do.AskTurnEnd) -> DelayedEvents:
        async def ask(services: Services) -> DelayedEvents:
            made = _EventCollector()
            asking = TurnEndScoring(self._call_id, services.answering.llm, made.post)
            await asking.ask(asked, asked.messages)
            return made.events

        return self._run(ask)

    def begin_turn(self, item_id: str, at_s: float) -> None:
        async def begin(services: Services) -> None:
            post = _HypothesisCollector(self._turns, item_id, asyncio.get_running_loop())
            monitor = _monitor(self._call_id, services, lambda awaited, reason: None)
            recognition = TurnRecognition(item_id, services.hearing.recognizer, post, monitor.fault)
            self._turns[item_id] = _Turn(recognition, _samples(at_s - self._padding_s))

        self._run(begin)

    def hear(self, item_id: str, received_s: float, until_s: float) -> DelayedEvents:
        return self._run(lambda _: self._hear(self._turns[item_id], received_s, until_s))

    def settle(self, item_id: str, received_s: float, number: bool) -> DelayedEvents:
        return self._run(lambda services: self._settle(services, self._turns[item_id], received_s, number))

    def end_turn(self, item_id: str) -> None:
        async def end(_: Services) -> None:
            task = self._turns.pop(item_id).recognition.task
            task.cancel()
            await asyncio.wait({task})

        self._run(end)

    def judge(self, item_id: str, received_s: float) -> DelayedEvents:
        async def judge(services: Services) -> DelayedEvents:
            if (model := services.hearing.turn_model) is None:
                return []
            began_s = _clock()
            probability = await model.complete(self._between(received_s - MAX_TURN_S, received_s))
            return [(_clock() - began_s, ev.TurnJudged(item_id, probability))]

        return self._run(judge)

    # ---- coroutines for the event loop

    async def _respond(self, services: Services, start: do.StartResponse) -> DelayedEvents:
        if not start.say:
            await self._read_before(services, start)
        made, over = _EventCollector(), (ev.ResponseGenerated, ev.ResponseFailed)
        llm_work = self._llm_work(services, made)
        llm_work.start(replace(start, preemptive=False))
        await made.until(over)
        await llm_work.close()
        return [(after_s, self._at_rate(services, event)) for after_s, event in made.events]

    async def _summarise(self, services: Services, wanted: do.Summarise) -> DelayedEvents:
        made = _EventCollector()
        llm_work = self._llm_work(services, made)
        llm_work.summarise(wanted)
        await made.until((ev.HistorySummarised,))
        await llm_work.close()
        return made.events

    async def _review(self, services: Services, wanted: do.ReviewResponse) -> DelayedEvents:
        made = _EventCollector()
        llm_work = self._llm_work(services, made)
        llm_work.review(wanted)
        await made.until((ev.ResponseReviewed,))
        await llm_work.close()
        return made.events

    async def _read_before(self, services: Services, start: do.StartResponse) -> None:
        """Prefill the prompt without the newest message, as a call does before it requests a response."""
        asked = start.request
        prompt = Request(asked.messages[:-1], asked.tools, priority_class="prefill", caller=self._call_id)
        with suppress(LlmError):  # the response fails the same way, and reports it
            await services.answering.llm.prefill(prompt)

    def _llm_work(self, services: Services, made: _EventCollector) -> LlmWork:
        def give_up(awaited: Awaited, reason: str) -> None:
            llm_work.give_up(awaited.owner, awaited.stage, reason)  # type: ignore[arg-type]  # one of the two

        monitor = _monitor(self._call_id, services, give_up)
        stamps = TurnStamps(services.measuring, lambda at_s: at_s)
        llm_work = LlmWork(self._call_id, services, made.post, stamps, _room, monitor)
        return llm_work

    async def _hear(self, turn: _Turn, received_s: float, until_s: float) -> DelayedEvents:
        turn.recognition.push(self._next(turn, received_s))
        turn.hypotheses.clear()
        began_s, at_s = _clock(), received_s
        while at_s < until_s:
            at_s = min(until_s, at_s + CHUNK_S)
            await asyncio.sleep(max(0.0, began_s + at_s - received_s - _clock()))
            turn.recognition.push(self._next(turn, at_s))
        return [(came_s - began_s, event) for came_s, event in turn.hypotheses]

    async def _settle(
        self, services: Services, turn: _Turn, received_s: float, number: bool
    ) -> DelayedEvents:
        turn.recognition.push(self._next(turn, received_s))
        turn.hypotheses.clear()
        turn.settled.clear()
        began_s = _clock()
        turn.recognition.flush(Flush(number))
        try:
            async with asyncio.timeout(services.limits.transcript_s):
                await turn.settled.wait()
        except TimeoutError:
            reason = f"no settled words within {services.limits.transcript_s:.1f} s"
            return [(services.limits.transcript_s, ev.RecognitionFailed(turn.recognition.item_id, reason))]
        return [(came_s - began_s, event) for came_s, event in turn.hypotheses]

    def _next(self, turn: _Turn, until_s: float) -> Samples:
        since, turn.given = turn.given, max(turn.given, _samples(until_s))
        return self._sound[since : turn.given]

    def _between(self, since_s: float, until_s: float) -> Samples:
        return self._sound[_samples(since_s) : _samples(until_s)]

    def _at_rate(self, services: Services, event: ev.Event) -> ev.Event:
        """Resample speech to the call's sample rate, as its synthesizer may have been another one."""
        rate_hz = services.speaking.synthesizer.rate_hz
        if not isinstance(event, ev.SpeechReady) or rate_hz == self._rate_hz:
            return event
        factor = self._rate_hz / rate_hz
        words = tuple(replace(w, at_samples=round(w.at_samples * factor)) for w in event.speech.words)
        speech = Speech(resample(event.speech.samples, rate_hz, self._rate_hz), words)
        return replace(event, speech=speech)


class _EventCollector:
    """Collects events of engines, with the seconds since the request."""

    def __init__(self) -> None:
        self.events: DelayedEvents = []
        self._began_s = _clock()
        self._came = asyncio.Event()

    def post(self, event: ev.Event) -> None:
        self.events.append((_clock() - self._began_s, event))
        self._came.set()

    async def until(self, last: tuple[type[ev.Event], ...]) -> None:
        """Wait until an event of these types was added."""
        while not self.events or not isinstance(self.events[-1][1], last):
            self._came.clear()
            await self._came.wait()


class _HypothesisCollector:
    """Collects the hypotheses of a turn."""

    def __init__(self, turns: dict[str, _Turn], item_id: str, loop: asyncio.AbstractEventLoop) -> None:
        self._turns, self._item_id, self._loop = turns, item_id, loop

    def __call__(self, event: ev.Event) -> None:
        turn = self._turns.get(self._item_id)
        if turn is None:
            return
        turn.hypotheses.append((self._loop.time(), event))
        if isinstance(event, ev.RecognitionFailed) or (
            isinstance(event, ev.TranscriptChanged) and event.settled
        ):
            turn.settled.set()


def _monitor(call_id: str, services: Services, give_up: Callable[[Awaited, str], None]) -> CallMonitor:
    return CallMonitor(call_id, services.measuring, services.limits, give_up, lambda reason, code: None)


async def _room() -> None:
    """Return at once: there is always room for more audio, as there is no playout."""


def _clock() -> float:
    return asyncio.get_running_loop().time()


def _samples(at_s: float) -> int:
    return max(0, round(at_s * SAMPLE_RATE_HZ))
