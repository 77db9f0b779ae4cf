"""Reports of unhealthy components."""

from __future__ import annotations

from structlog.testing import capture_logs

from voiceagent.engines.engines import Engines
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.health_monitor import CHECK_INTERVAL_S, HealthMonitor
from voiceagent.telemetry.metrics import Metrics


class Well:
    """An engine that has no process of its own."""


def test_after_a_pause_of_this_process_no_part_is_late_before_it_had_its_time() -> None:
    late = {"kept_calls": ""}
    metrics = Metrics()
    parts = HealthMonitor(metrics, Engines(Well(), Well(), Well()), LlmMonitor(metrics.llm), lambda: late)  # type: ignore[arg-type]
    with capture_logs() as logged:
        parts.check(10.0)
        parts.check(10.0 + CHECK_INTERVAL_S)
        late["kept_calls"] = "calls are written 15 s late"
        parts.check(25.0)  # it stood still, and so did who writes
        late["kept_calls"] = ""
        parts.check(25.0 + CHECK_INTERVAL_S)
        late["kept_calls"] = "calls are written 3 s late"
        parts.check(25.0 + 2 * CHECK_INTERVAL_S)
    assert [(entry["event"], entry["reason"]) for entry in logged] == [
        ("component_degraded", "calls are written 3 s late")
    ]
