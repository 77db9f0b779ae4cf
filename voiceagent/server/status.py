"""Status of a server: the line printed when it is ready, its health, and its triage."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from typing import Any, NamedTuple

from voiceagent import __version__
from voiceagent.access.calls import State
from voiceagent.config.tables import Config
from voiceagent.engines.catalogue import STAGES
from voiceagent.llm.alarms import Alarm
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.telemetry.event_loop import LATE_S, LoopMonitor
from voiceagent.telemetry.totals import Page
from voiceagent.triage.expressions import EVERY_S, History, reading
from voiceagent.triage.rules import Finding, judge

MAX_LATE = 5
"""Audible lags in ten seconds before an alarm; a few may be caused by the machine."""


def ready_line(config: Config, listening: socket.socket, latency_s: Mapping[str, float]) -> str:
    """Return the line with address, engines, and the milliseconds of each stage of the warm-up turn."""
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    engines = config.upstream.url or ", ".join(getattr(config, stage).engine for stage in STAGES)
    workers = f" in {config.server.workers} workers" if config.server.workers > 1 else ""
    stages = ", ".join(f"{stage} {seconds * 1000:.0f}" for stage, seconds in latency_s.items())
    return f"voiceagent {__version__} on {address}{workers} with {engines}; warm-up in ms: {stages}"


def health(
    config: Config,
    state: State,
    calls: int,
    monitor: LlmMonitor,
    problems: Mapping[str, str],
    loop: LoopMonitor,
) -> dict[str, Any]:
    """Return the body of `GET /health`. problems: by component. loop: of the process that answers."""
    alarms = monitor.alarms() | ({"loop": [_loop_late(loop.late)]} if loop.late > MAX_LATE else {})
    return {
        "status": "degraded" if state == "ready" and problems else state,
        "degraded": dict(problems),
        "engines": {stage: getattr(config, stage).engine for stage in STAGES},
        "upstream": config.upstream.url,
        "about": config.agent.page_text,
        "calls": calls,
        "shedding": monitor.shedder.level.name.lower(),
        "speculation": monitor.speculation(),
        "semantic_cache": monitor.cache_state,
        "alarms": {name: [asdict(alarm) for alarm in found] for name, found in alarms.items()},
        "version": __version__,
    }


def _loop_late(late: int) -> Alarm:
    text = f"the event loop was over {LATE_S * 1000:.0f} ms late {late} times in ten seconds"
    return Alarm("loop_late", late, MAX_LATE, text)


class TriageResult(NamedTuple):
    """All rules, likeliest cause first, and the length of the window."""

    findings: tuple[Finding, ...]
    window_s: float


class Triage:
    """Evaluates the triage rules. collect: returns the current metrics of the whole server."""

    def __init__(self, collect: Callable[[], Awaitable[Page]]) -> None:
        self._collect = collect
        self._history = History()

    async def run(self) -> None:
        """Record the metrics until cancelled."""
        while True:
            self._history.keep(time.monotonic(), reading(await self._collect()))
            await asyncio.sleep(EVERY_S)

    async def judge(self) -> TriageResult:
        """Evaluate the rules over the recorded window."""
        read = reading(await self._collect())
        window_s, window = self._history.window(time.monotonic(), read)
        return TriageResult(judge(window), window_s)
