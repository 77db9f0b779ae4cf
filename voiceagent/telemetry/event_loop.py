"""Event loop health of a process: wake-up latency and number of tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry

from voiceagent.processes.rounds import ROUND_S, until_multiple_s
from voiceagent.telemetry.metric_table import new_gauge

INTERVAL_S = 3 * ROUND_S
"""Interval of the measurement, at its whole multiples, to coincide with a process's ticks."""
LATE_S = 0.1
"""Lag that is audible: five frames."""
STALL_S = 0.05
"""Lag from which each stall is reported."""
LOGGED_LAG_S = 1.0
"""Lag from which a stall is logged, as callers notice the silence."""
RECENT = 167
"""Number of recent measurements kept, which span ten seconds."""

log = structlog.get_logger()


class LoopMonitor:
    """Two gauges of one process: its longest lag in ten seconds, and its tasks. A server of many processes
    sums the tasks and exports the largest lag.

    stalled: called after each stall with the clock time and the lag. The stall may have lasted up to one
    interval longer.
    """

    def __init__(
        self,
        registry: CollectorRegistry,
        stalled: Callable[[float, float], None] = lambda clock_s, lag_s: None,
    ) -> None:
        self._stalled = stalled
        self._lags_s = [0.0] * RECENT
        lag = new_gauge("loop_lag_seconds", registry)
        lag.set_function(lambda: max(self._lags_s))
        self._tasks = 0
        tasks = new_gauge("tasks", registry)
        tasks.set_function(lambda: self._tasks)

    @property
    def late(self) -> int:
        """Number of audible lags in ten seconds."""
        return sum(lag_s > LATE_S for lag_s in self._lags_s)

    @property
    def lag_s(self) -> float:
        """Typical lag: the 90th percentile of ten seconds, so that a single stall does not count as load."""
        return sorted(self._lags_s)[round(0.9 * RECENT)]

    def observe(self, beat: int, lag_s: float, clock_s: float = 0.0) -> None:
        """Record that the event loop woke `lag_s` too late."""
        self._lags_s[beat % RECENT] = max(0.0, lag_s)
        if lag_s > STALL_S:
            self._stalled(clock_s, lag_s)
        if lag_s > LOGGED_LAG_S:
            reason = "this process did not run: it was suspended, or something in it blocked"
            log.warning("event_loop_stalled", for_s=round(lag_s, 1), reason=reason)

    async def run(self) -> None:
        """Measure until cancelled."""
        beat = 0
        while True:
            wait_s = until_multiple_s(INTERVAL_S, time.monotonic())
            due_s = time.monotonic() + wait_s
            await asyncio.sleep(wait_s)
            now_s = time.monotonic()
            self.observe(beat, now_s - due_s, now_s)
            if beat % RECENT == 0:
                self._tasks = len(asyncio.all_tasks())
            beat += 1
