"""Reference of the metrics: `python tests/support/metric_reference.py FILE` writes it as Markdown.

A test keeps the page current.
"""

from __future__ import annotations

import sys
from pathlib import Path

from voiceagent.telemetry.metric_table import METRICS, MetricSpec

_INTRODUCTION = """\
# Metrics

`GET /metrics` exports these metrics for Prometheus, and `[otlp]` sends them to an OpenTelemetry collector.
The names below lack the prefix `voiceagent_`. Prometheus shows a counter with the suffix `_total`, and a
histogram as `_bucket`, `_sum` and `_count`. vLLM in the same process adds its own metrics.

A server of many processes (`server.workers`) exports the sum of its processes, or the largest value where the
table says so. A process that died leaves its counters in the sum, but not its gauges. The 90th percentile of
the caller's wait is `histogram_quantile(0.9, sum by (le) (rate(voiceagent_turn_seconds_bucket[5m])))`.

This page is generated: `python tests/support/metric_reference.py docs/metrics.md`.
"""
_HEAD = "| metric | kind | labels | meaning |\n| --- | --- | --- | --- |"


def to_markdown() -> str:
    parts = [_INTRODUCTION]
    for section, specs in METRICS.items():
        rows = "\n".join(map(_row, specs))
        parts.append(f"## {section}\n\n{_HEAD}\n{rows}\n")
    return "\n".join(parts)


def _row(spec: MetricSpec) -> str:
    kind = ", ".join(filter(None, (spec.kind, spec.unit, "largest" if spec.largest else "")))
    labels = ", ".join(f"`{label}`" for label in spec.labels)
    return f"| `{spec.name}` | {kind} | {labels} | {spec.meaning} |"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(to_markdown(), encoding="utf-8")
