"""Load of a vLLM engine, from its Prometheus metrics in this process and our scheduler's report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prometheus_client import CollectorRegistry

from llmcore.engine import EngineLoad, Eviction, Steps

_METRICS = (
    "vllm:num_requests_running",
    "vllm:num_requests_waiting",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
    "vllm:spec_decode_num_drafts_total",
    "vllm:spec_decode_num_draft_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_total",
    "vllm:spec_decode_num_accepted_tokens_per_pos_total",
)


def read_load(metrics: CollectorRegistry) -> EngineLoad:
    """Return the load by an engine's metrics; missing ones are 0 or None."""
    values: dict[str, float] = {}
    by_position: dict[int, float] = {}
    for family in metrics.restricted_registry(_METRICS).collect():
        for sample in family.samples:
            if "position" in sample.labels:
                position = int(sample.labels["position"])
                by_position[position] = by_position.get(position, 0.0) + sample.value
            else:
                # one sample per engine of a data-parallel group
                values[sample.name] = values.get(sample.name, 0.0) + sample.value

    def count(name: str) -> int | None:
        return int(values[name]) if name in values else None

    return EngineLoad(
        running=count(_METRICS[0]) or 0,
        waiting=count(_METRICS[1]) or 0,
        cache_usage=values.get(_METRICS[2]),
        preemptions=count(_METRICS[3]),
        drafts=count(_METRICS[4]),
        drafted=count(_METRICS[5]),
        accepted=count(_METRICS[6]),
        accepted_at=tuple(int(by_position[position]) for position in sorted(by_position)),
    )


def with_report(load: EngineLoad, report: Mapping[str, Any]) -> EngineLoad:
    """Return the load with our scheduler's report added (`vllm_internals.report`), if there is one."""
    if not report:
        return load
    seconds, tokens, sequences = (tuple(report[name]) for name in ("step_s", "tokens", "sequences"))
    return replace(
        load,
        steps=Steps(seconds, tokens, sequences, report["max_tokens"], report["max_sequences"]),
        evictions=tuple(Eviction(*counted) for counted in report["evicted"]),
    )
