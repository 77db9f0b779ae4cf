"""What is told of parts that are not well."""

from __future__ import annotations

from structlog.testing import capture_logs

from voiceagent.engines.engines import Engines
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.server.parts import LOOK_S, PartsMonitor
from voiceagent.telemetry.metrics import Metrics


class Well:
    """An engine that has no process of its own."""


def test_after_a_pause_of_this_process_no_part_is_late_before_it_had_its_time() -> None:
    late = {"kept_calls": ""}
    metrics = Metrics()
    parts = PartsMonitor(metrics, Engines(Well(), Well(), Well()), LlmMonitor(metrics.llm), lambda: late)  # type: ignore[arg-type]
    with capture_logs() as logged:
        parts.look(10.0)
        parts.look(10.0 + LOOK_S)
        late["kept_calls"] = "calls are written 15 s late"
        parts.look(25.0)  # it stood still, and so did who writes
        late["kept_calls"] = ""
        parts.look(25.0 + LOOK_S)
        late["kept_calls"] = "calls are written 3 s late"
        parts.look(25.0 + 2 * LOOK_S)
    assert [(entry["event"], entry["reason"]) for entry in logged] == [
        ("part_degraded", "calls are written 3 s late")
    ]
