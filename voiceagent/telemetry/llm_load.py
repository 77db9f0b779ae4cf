"""Load reported by the LLM engines, collected at each scrape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.metrics_core import Metric

from llmcore.engine import STEP_BUCKETS_S, STEP_SIZES, EngineLoad, ReportsLoad
from voiceagent.telemetry.metric_table import counter_family, gauge_family, histogram_family

GAUGES = ("running", "waiting", "cache_usage")
COUNTERS = ("preemptions", "drafts", "drafted", "accepted")
LIMITS = (("llm_step_max_tokens", "max_tokens"), ("llm_step_max_sequences", "max_sequences"))
HISTOGRAMS = (
    ("llm_step_seconds", "seconds", STEP_BUCKETS_S),
    ("llm_step_tokens", "tokens", STEP_SIZES),
    ("llm_step_sequences", "sequences", STEP_SIZES),
)


class LoadCollector:
    """The load of all engines, labelled by engine and model. An engine's missing figures are left out."""

    def __init__(self) -> None:
        self.engines: list[tuple[str, str, ReportsLoad]] = []

    def collect(self) -> Iterator[Metric]:
        loads = [((engine, model), source.load()) for engine, model, source in self.engines]
        for names, family in ((GAUGES, gauge_family), (COUNTERS, counter_family)):
            for name in names:
                numbers = family(f"llm_{name}")
                for labels, load in loads:
                    if (value := getattr(load, name)) is not None:
                        numbers.add_metric(labels, value)
                yield numbers
        yield self._accepted_at(loads)
        yield self._evicted(loads)
        yield from self._steps(loads)

    def _accepted_at(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        accepted = counter_family("llm_accepted_at")
        for labels, load in loads:
            for position, value in enumerate(load.accepted_at):
                accepted.add_metric((*labels, str(position)), value)
        return accepted

    def _evicted(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        evicted = counter_family("llm_evicted_blocks")
        for labels, load in loads:
            for eviction in load.evictions:
                whose = (eviction.of, eviction.by, eviction.whose)
                evicted.add_metric((*labels, *whose), eviction.blocks)
        return evicted

    def _steps(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Iterator[Metric]:
        known = [(labels, load.steps) for labels, load in loads if load.steps is not None]
        for name, field in LIMITS:
            limit = gauge_family(name)
            for labels, steps in known:
                limit.add_metric(labels, getattr(steps, field))
            yield limit
        for name, field, bounds in HISTOGRAMS:
            histogram = histogram_family(name)
            for labels, steps in known:
                *counts, total = getattr(steps, field)
                ends = [*(str(float(bound)) for bound in bounds), "+Inf"]
                histogram.add_metric(labels, list(zip(ends, accumulate(counts), strict=True)), total)
            yield histogram
