"""Health of the server's components, in the log, in `/health` and in the metrics."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping

import structlog

from voiceagent.engines.engines import Engines
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.telemetry.metric_table import new_counter, new_gauge
from voiceagent.telemetry.metrics import Metrics

log = structlog.get_logger()

CHECK_INTERVAL_S = 0.5
"""Interval of the health check."""


class HealthMonitor:
    """Monitors engines, LLM and other components.

    others: returns problems of other components by name. restarts: returns restarts of their processes by
    name.
    """

    def __init__(
        self,
        metrics: Metrics,
        engines: Engines,
        llm: LlmMonitor,
        others: Callable[[], Mapping[str, str]] = dict,
        restarts: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._engines = engines
        self._llm = llm
        self._others = others
        self._restarts = restarts
        self._checked_s = -math.inf
        self._since_s: dict[str, float] = {}
        self._counted: dict[str, int] = {}
        self._processes: dict[str, list[int]] = {}
        registry = metrics.registry
        self._degraded = new_gauge("degraded", registry)
        self._restarted = new_counter("restarts", registry)

    def problems(self) -> dict[str, str]:
        """Return current problems by component, without the healthy ones."""
        found = {**self._engines.problems(), "llm": self._llm.problem, **self._others()}
        return {part: problem for part, problem in found.items() if problem}

    async def run(self) -> None:
        """Log and count each change of health until cancelled."""
        while True:
            self.check(time.monotonic())
            await asyncio.sleep(CHECK_INTERVAL_S)

    def check(self, now_s: float) -> None:
        """Log and count the changes since the last check. If this process was stalled since then, skip this
        check: all components seem late, and get time to answer.
        """
        if now_s - self._checked_s < 2 * CHECK_INTERVAL_S:
            self._report_changes(self.problems(), now_s)
            self._report_processes()
        self._checked_s = now_s

    def _report_changes(self, problems: Mapping[str, str], now_s: float) -> None:
        seen = self._since_s.keys() | problems.keys()
        for part in problems.keys() - self._since_s.keys():
            self._since_s[part] = now_s
            self._degraded.labels(part).set(1)
            log.error("component_degraded", part=part, reason=problems[part])
        for part in self._since_s.keys() - problems.keys():
            self._degraded.labels(part).set(0)
            log.warning("component_recovered", part=part, after_s=round(now_s - self._since_s.pop(part), 1))
        for part in self._count(self._engines.restarts()) - seen:  # lost and restarted between two checks
            log.error("component_degraded", part=part, reason="its process was lost")
            log.warning("component_recovered", part=part, after_s=0.0)
        self._count(self._restarts())

    def _report_processes(self) -> None:
        """Log the process ids of the engines whenever they change."""
        processes = self._engines.process_ids()
        if processes != self._processes:
            self._processes = processes
            log.info("engine_processes", **processes)

    def _count(self, restarts: Mapping[str, int]) -> set[str]:
        """Count restarts. Return the components restarted since the last check."""
        grown = {part for part, count in restarts.items() if count > self._counted.get(part, 0)}
        for part in restarts:
            self._restarted.labels(part).inc(restarts[part] - self._counted.get(part, 0))
        self._counted.update(restarts)
        return grown
