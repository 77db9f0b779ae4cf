"""How well the event loop of a process turns: how late it wakes, and how many tasks it has."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry, Gauge

from voiceagent.processes.rounds import ROUND_S, until_multiple_s

BEAT_S = 3 * ROUND_S
"""How often it wakes, at whole multiples of this: in a process with rounds that is together with them."""
LATE_S = 0.1
"""A lateness that a caller hears: five frames of sound."""
STALL_S = 0.05
"""A lateness from this on is reported by itself."""
TOLD_S = 1.0
"""A lateness from this on is in the log: callers hear it as a silence, and ask what it was."""
KEPT = 167
"""The longest lateness of so many wake-ups is told: those of the last ten seconds."""

log = structlog.get_logger()


class LoopMonitor:
    """Two gauges of one process: its longest lag in ten seconds, and its tasks.

    Those of a server of many processes are their sums. stalled: told of each stall, when it was over and how
    late the loop woke; it may have lasted up to a beat longer.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        stalled: Callable[[float, float], None] = lambda clock_s, lag_s: None,
    ) -> None:
        self._stalled = stalled
        self._lags_s = [0.0] * KEPT
        about = "Longest lag in 10 s, summed over the event loops."
        lag = Gauge("voiceagent_loop_lag_seconds", about, registry=registry)
        lag.set_function(lambda: max(self._lags_s))
        self._tasks = 0
        tasks = Gauge("voiceagent_tasks", "Tasks of the event loops.", registry=registry)
        tasks.set_function(lambda: self._tasks)

    @property
    def late(self) -> int:
        """How often in ten seconds it woke later than a caller hears."""
        return sum(lag_s > LATE_S for lag_s in self._lags_s)

    @property
    def lag_s(self) -> float:
        """How late it usually wakes: nine of ten times in ten seconds it is no later. A single stall does not
        count as load."""
        return sorted(self._lags_s)[round(0.9 * KEPT)]

    def observe(self, beat: int, lag_s: float, clock_s: float = 0.0) -> None:
        """The event loop woke `lag_s` too late."""
        self._lags_s[beat % KEPT] = max(0.0, lag_s)
        if lag_s > STALL_S:
            self._stalled(clock_s, lag_s)
        if lag_s > TOLD_S:
            reason = "this process did not run: it was suspended, or something in it blocked"
            log.warning("stood_still", for_s=round(lag_s, 1), reason=reason)

    async def run(self) -> None:
        """Measure, until cancelled."""
        beat = 0
        while True:
            wait_s = until_multiple_s(BEAT_S, time.monotonic())
            due_s = time.monotonic() + wait_s
            await asyncio.sleep(wait_s)
            now_s = time.monotonic()
            self.observe(beat, now_s - due_s, now_s)
            if beat % KEPT == 0:
                self._tasks = len(asyncio.all_tasks())
            beat += 1
