"""The engines that were chosen, one a stage, from their start to their end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from audio.recognizers import Recognizer
from audio.synthesizers import Synthesizer
from llmcore.engine import Llm
from voiceagent.engines.catalogue import STAGES, Stage
from voiceagent.engines.fallback import FallbackRecognizer, FallbackSynthesizer
from voiceagent.engines.hosted import HostedRecognizer, HostedSynthesizer
from voiceagent.engines.phrase_cache import CachedSynthesizer
from voiceagent.engines.silent import SilentRecognizer, SilentSynthesizer


@dataclass(frozen=True, slots=True)
class Engines:
    """The engines of a server, shared by all its calls."""

    recognizer: Recognizer
    llm: Llm
    synthesizer: Synthesizer

    @property
    def of_workers(self) -> frozenset[Stage]:
        """The stages whose engine each worker has its own of: it costs less there than the way to another
        process. One with a fallback is shared, as one circuit breaker is to see the failures of all calls.
        """
        return frozenset(stage for stage, engine in self._speech() if getattr(engine, "in_workers", False))

    def shared(self) -> Engines:
        """The engines that all workers share; silent ones take the place of the others."""
        own = self.of_workers
        return replace(
            self,
            recognizer=SilentRecognizer() if "recognizer" in own else self.recognizer,
            synthesizer=SilentSynthesizer() if "synthesizer" in own else self.synthesizer,
        )

    async def start(self, clock: Callable[[], float] = time.monotonic) -> dict[Stage, float]:
        """Start all at once; the seconds each took. Where one fails all are closed, its error is raised."""
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {stage: group.create_task(_timed(getattr(self, stage), clock)) for stage in STAGES}
        except BaseExceptionGroup as failures:
            await self.close()
            raise failures.exceptions[0] from None
        return {stage: task.result() for stage, task in tasks.items()}

    async def close(self) -> None:
        """Close all, even where one of them fails to; then raise the first failure."""
        closing = (self.recognizer.close(), self.llm.close(), self.synthesizer.close())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def troubles(self) -> dict[str, str]:
        """What is wrong with those that have processes or a fallback, by stage; "" where nothing is."""
        found: dict[str, str] = {}
        for stage, engine in self._speech():
            if isinstance(engine, FallbackRecognizer | FallbackSynthesizer) and engine.trouble:
                found[stage] = engine.trouble
        for stage, hosted in self._hosted():
            found[stage] = found.get(stage, "") or hosted.host.trouble
        return found

    def restarts(self) -> dict[str, int]:
        """How often processes of those that have some were started again, by stage."""
        counted: dict[str, int] = {}
        for stage, engine in self._hosted():
            counted[stage] = counted.get(stage, 0) + engine.host.restarts
        return counted

    def process_ids(self) -> dict[str, list[int]]:
        """The ids of the processes that run, by stage."""
        found: dict[str, list[int]] = {}
        for stage, engine in self._hosted():
            found[stage] = found.get(stage, []) + engine.host.process_ids
        return found

    def _speech(self) -> tuple[tuple[Stage, object], ...]:
        return (("recognizer", self.recognizer), ("synthesizer", self.synthesizer))

    def _hosted(self) -> list[tuple[Stage, HostedRecognizer | HostedSynthesizer]]:
        """The engines that have processes, a primary before its fallback."""
        each: list[tuple[Stage, object]] = []
        for stage, engine in self._speech():
            if isinstance(engine, FallbackRecognizer | FallbackSynthesizer):
                each += [(stage, engine.primary), (stage, engine.fallback)]
            else:
                each.append((stage, engine))
        each = [(stage, one.inner if isinstance(one, CachedSynthesizer) else one) for stage, one in each]
        return [
            (stage, engine)
            for stage, engine in each
            if isinstance(engine, HostedRecognizer | HostedSynthesizer)
        ]


async def _timed(engine: Recognizer | Llm | Synthesizer, clock: Callable[[], float]) -> float:
    began = clock()
    await engine.start()
    return clock() - began
