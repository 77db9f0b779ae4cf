"""The chosen engines, one a stage: start, end and health."""

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
    """Engines of a server, shared by all its calls."""

    recognizer: Recognizer
    llm: Llm
    synthesizer: Synthesizer

    @property
    def worker_stages(self) -> frozenset[Stage]:
        """Stages whose engine runs in each worker, where it costs less than a connection to another process.

        An engine with a fallback is shared, so that one circuit breaker sees the failures of all calls.
        """
        return frozenset(
            stage for stage, engine in self._speech_engines() if getattr(engine, "in_workers", False)
        )

    def shared(self) -> Engines:
        """Return the engines that all workers share, with silent ones in place of the others."""
        worker_stages = self.worker_stages
        return replace(
            self,
            recognizer=SilentRecognizer() if "recognizer" in worker_stages else self.recognizer,
            synthesizer=SilentSynthesizer() if "synthesizer" in worker_stages else self.synthesizer,
        )

    async def start(self, clock: Callable[[], float] = time.monotonic) -> dict[Stage, float]:
        """Start all engines concurrently; return the seconds each took.

        If one fails, close all and raise its error.
        """
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {stage: group.create_task(_timed(getattr(self, stage), clock)) for stage in STAGES}
        except BaseExceptionGroup as failures:
            await self.close()
            raise failures.exceptions[0] from None
        return {stage: task.result() for stage, task in tasks.items()}

    async def close(self) -> None:
        """Close all engines, then raise the first failure, if any."""
        closing = (self.recognizer.close(), self.llm.close(), self.synthesizer.close())
        for outcome in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def problems(self) -> dict[str, str]:
        """Return problems by stage, for engines with processes or a fallback; "" for none."""
        found: dict[str, str] = {}
        for stage, engine in self._speech_engines():
            if isinstance(engine, FallbackRecognizer | FallbackSynthesizer) and engine.problem:
                found[stage] = engine.problem
        for stage, hosted in self._process_engines():
            found[stage] = found.get(stage, "") or hosted.host.problem
        return found

    def restarts(self) -> dict[str, int]:
        """Return the number of process restarts by stage."""
        counted: dict[str, int] = {}
        for stage, engine in self._process_engines():
            counted[stage] = counted.get(stage, 0) + engine.host.restarts
        return counted

    def process_ids(self) -> dict[str, list[int]]:
        """Return the ids of running processes by stage."""
        found: dict[str, list[int]] = {}
        for stage, engine in self._process_engines():
            found[stage] = found.get(stage, []) + engine.host.process_ids
        return found

    def _speech_engines(self) -> tuple[tuple[Stage, object], ...]:
        return (("recognizer", self.recognizer), ("synthesizer", self.synthesizer))

    def _process_engines(self) -> list[tuple[Stage, HostedRecognizer | HostedSynthesizer]]:
        """Return the engines that have processes, a primary before its fallback."""
        candidates: list[tuple[Stage, object]] = []
        for stage, engine in self._speech_engines():
            if isinstance(engine, FallbackRecognizer | FallbackSynthesizer):
                candidates += [(stage, engine.primary), (stage, engine.fallback)]
            else:
                candidates.append((stage, engine))
        candidates = [
            (stage, one.inner if isinstance(one, CachedSynthesizer) else one) for stage, one in candidates
        ]
        return [
            (stage, engine)
            for stage, engine in candidates
            if isinstance(engine, HostedRecognizer | HostedSynthesizer)
        ]


async def _timed(engine: Recognizer | Llm | Synthesizer, clock: Callable[[], float]) -> float:
    began = clock()
    await engine.start()
    return clock() - began
