"""Behaviour under twice as many calls as the LLM can serve in time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random

from rich.progress import Progress

from llm_load.calls import LlmFigures
from llm_load.measure import Load, measure, new_caller
from llm_load.replay import Replay
from llm_load.variants import LlmVariant
from llmcore.engine import Llm
from voiceagent.conversation.latency import percentile
from voiceagent.llm.monitor import LlmMonitor

ALONE = Load(calls=1, turns=40)
BETWEEN_S = 1.0
"""Seconds between new callers during the search for the capacity."""
SETTLING_S = 15.0
"""The capacity is reached once no new call is accepted for this long."""
MAX_CALLS = 400
PHASE_S = 45.0
"""Length of the measurements with as many callers as are accepted, and with twice as many."""
AGAIN_S = 2.0
"""Mean time before a caller's first call, and between calls after a refusal or a hang-up."""


@dataclass(slots=True)
class Overload:
    """Figures of an overload. Times in milliseconds.

    alone: TTFT of one call. full: of as many as are accepted, each replaced at once when it ends. max_full:
    maximum of these at once. admitted: of those accepted among twice as many. max_calls: maximum of these at
    once. refusal: time to refuse.
    """

    capacity: int = 0
    alone: LlmFigures = field(default_factory=LlmFigures)
    full: LlmFigures = field(default_factory=LlmFigures)
    max_full: int = 0
    admitted: LlmFigures = field(default_factory=LlmFigures)
    calls: int = 0
    max_calls: int = 0
    refusal: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, float]:
        """Return the figures and their ratios."""
        alone, full, admitted = (percentile(f.times.ttft, 95) for f in (self.alone, self.full, self.admitted))
        return {
            "capacity, calls": self.capacity,
            "one call: TTFT p95 ms": alone,
            "as many as are taken: TTFT p95 ms": full,
            "of them at once, the most": self.max_full,
            "twice as many offered: TTFT p95 ms of the admitted": admitted,
            "of that of as many as are taken": admitted / full,
            "of that of one call": admitted / alone,
            "calls admitted": self.calls,
            "of these at once, the most": self.max_calls,
            "calls refused": len(self.refusal),
            "refused in ms, the slowest": max(self.refusal, default=0.0),
            "turns failed": len(self.admitted.failed),
        }


class Callers:
    """Callers who call, converse if accepted, hang up, and call again."""

    def __init__(self, llm: Llm, monitor: LlmMonitor, variant: LlmVariant, replay: Replay, seed: int) -> None:
        self._llm = llm
        self._monitor = monitor
        self._variant = variant
        self._replay = replay
        self._seeds = count(seed * 1000)
        self.calls = 0
        self.max_calls = 0
        self.admitted = 0
        self.refusal_ms: list[float] = []

    async def keep_calling(self, figures: LlmFigures, stays: bool = False) -> None:
        """Call until cancelled. stays: an accepted caller never leaves, so the number of calls is
        constant.
        """
        random = Random(next(self._seeds))
        while True:
            await asyncio.sleep(random.expovariate(1 / AGAIN_S))
            if self._is_let_in():
                try:
                    for questions in self._replay.callers(next(self._seeds)):
                        caller = new_caller(self._llm, self._variant, figures, Random(next(self._seeds)))
                        await caller.call(questions, lambda: True)
                        if not stays:
                            break
                finally:
                    self.calls -= 1

    @asynccontextmanager
    async def calling(self) -> AsyncIterator[Callable[[LlmFigures, bool], None]]:
        """Yield a function that adds a caller, with the arguments of `keep_calling`; all hang up at the end.

        Meanwhile the monitor tracks the engine's load, as in a server.
        """
        tasks = [asyncio.create_task(self._monitor.run(lambda: self.calls))]
        try:
            yield lambda figures, stays: tasks.append(asyncio.create_task(self.keep_calling(figures, stays)))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _is_let_in(self) -> bool:
        asked_s = time.monotonic()
        refusal = self._monitor.refusal(self.calls)
        if refusal is not None:
            self.refusal_ms.append((time.monotonic() - asked_s) * 1000)
            return False
        self.calls += 1
        self.admitted += 1
        self.max_calls = max(self.max_calls, self.calls)
        return True


async def measure_overload(
    llm: Llm, monitor: LlmMonitor, variant: LlmVariant, replay: Replay, seed: int, progress: Progress
) -> Overload:
    """Find the capacity, then offer as many calls and twice as many."""
    found = Overload()
    bar = progress.add_task("one call", total=ALONE.turns)
    found.alone = await measure(llm, variant, ALONE, replay, partial(progress.advance, bar))
    progress.add_task("looking for the capacity", total=None)
    found.capacity = await _capacity(Callers(llm, monitor, variant, replay, seed))

    async def offer(offered: int, figures: LlmFigures, stays: bool) -> Callers:
        progress.add_task(f"{offered} callers", total=None)
        callers = Callers(llm, monitor, variant, replay, seed + offered)
        async with callers.calling() as new_call:
            for _ in range(offered):
                new_call(figures, stays)
            await asyncio.sleep(PHASE_S)
        return callers

    found.max_full = (await offer(found.capacity, found.full, stays=True)).max_calls
    crowd = await offer(2 * found.capacity, found.admitted, stays=False)
    found.calls, found.max_calls, found.refusal = crowd.admitted, crowd.max_calls, crowd.refusal_ms
    return found


async def _capacity(callers: Callers) -> int:
    """Add callers who stay, one after the other, until no new call is accepted for a while."""
    figures, offered = LlmFigures(), 0
    grown_s = time.monotonic()
    async with callers.calling() as new_call:
        while time.monotonic() < grown_s + SETTLING_S and offered < MAX_CALLS:
            before = callers.max_calls
            if callers.calls == offered:
                new_call(figures, True)
                offered += 1
            await asyncio.sleep(BETWEEN_S)
            if callers.max_calls > before:
                grown_s = time.monotonic()
    return callers.max_calls
