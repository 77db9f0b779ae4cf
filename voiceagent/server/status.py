"""What a server tells about itself: the line when it is ready, and its health."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from voiceagent import __version__
from voiceagent.access.calls import State
from voiceagent.config.tables import Config
from voiceagent.engines.catalogue import STAGES
from voiceagent.llm.alarms import Alarm
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.telemetry.event_loop import LATE_S, LoopMonitor

MAX_LATE = 5
"""So often an event loop may be late in ten seconds before it is an alarm: once, it may be the machine."""


def ready_line(config: Config, listening: socket.socket, latency_s: Mapping[str, float]) -> str:
    """The address, the engines, and what each stage of the warm-up turn took."""
    host, port = listening.getsockname()[:2]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    engines = ", ".join(getattr(config, stage).engine for stage in STAGES)
    workers = f" in {config.server.workers} workers" if config.server.workers > 1 else ""
    stages = ", ".join(f"{stage} {seconds * 1000:.0f}" for stage, seconds in latency_s.items())
    return f"voiceagent {__version__} on {address}{workers} with {engines}; warm-up in ms: {stages}"


def health(
    config: Config,
    state: State,
    calls: int,
    monitor: LlmMonitor,
    troubles: Mapping[str, str],
    loop: LoopMonitor,
) -> dict[str, Any]:
    """The body of `GET /health`. troubles: what is wrong, by the part. loop: of the process that answers."""
    alarms = monitor.alarms() | ({"loop": [_loop_late(loop.late)]} if loop.late > MAX_LATE else {})
    return {
        "status": "degraded" if state == "ready" and troubles else state,
        "degraded": dict(troubles),
        "engines": {stage: getattr(config, stage).engine for stage in STAGES},
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
