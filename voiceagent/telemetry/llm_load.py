"""Load reported by the LLM engines, collected at each scrape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from llmcore.engine import STEP_BUCKETS_S, STEP_SIZES, EngineLoad, ReportsLoad

NUMBERS: tuple[tuple[str, type[Any], str], ...] = (
    ("running", GaugeMetricFamily, "Requests that are computed."),
    ("waiting", GaugeMetricFamily, "Requests that wait for the engine."),
    ("cache_usage", GaugeMetricFamily, "Part of the KV cache that is taken, 0 to 1."),
    ("preemptions", CounterMetricFamily, "Responses put back to make room for others."),
    ("drafts", CounterMetricFamily, "Proposals of speculation, each of a few tokens."),
    ("drafted", CounterMetricFamily, "Tokens that they proposed."),
    ("accepted", CounterMetricFamily, "Proposed tokens that the model accepted."),
)
LIMITS = (
    ("step_max_tokens", "max_tokens", "Tokens that the next step may compute while responses are written."),
    ("step_max_sequences", "max_sequences", "Responses that the next step may compute."),
)
HISTOGRAMS = (
    ("step_seconds", "seconds", "A step of the engine.", STEP_BUCKETS_S),
    ("step_tokens", "tokens", "Tokens computed in a step.", STEP_SIZES),
    ("step_sequences", "sequences", "Responses in a step, written or their prompts read.", STEP_SIZES),
)


class LoadCollector:
    """Collects the load of all engines, labelled by engine and model. Figures that an engine does not report
    are left out.

    labels: names of these two labels.
    """

    def __init__(self, labels: tuple[str, str]) -> None:
        self._labels = labels
        self.engines: list[tuple[str, str, ReportsLoad]] = []

    def collect(self) -> Iterator[Metric]:
        loads = [((engine, model), source.load()) for engine, model, source in self.engines]
        for name, kind, text in NUMBERS:
            numbers = kind(f"voiceagent_llm_{name}", text, labels=self._labels)
            for labels, load in loads:
                if (value := getattr(load, name)) is not None:
                    numbers.add_metric(labels, value)
            yield numbers
        yield self._accepted_at(loads)
        yield self._evicted(loads)
        yield from self._steps(loads)

    def _accepted_at(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        text = "Proposed tokens that the model accepted, by position in the proposal."
        accepted = CounterMetricFamily("voiceagent_llm_accepted_at", text, labels=(*self._labels, "position"))
        for labels, load in loads:
            for position, value in enumerate(load.accepted_at):
                accepted.add_metric((*labels, str(position)), value)
        return accepted

    def _evicted(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Metric:
        evicted = CounterMetricFamily(
            "voiceagent_llm_evicted_blocks",
            "Blocks that left the prefix cache: what they were computed for, what the room is for, and"
            " whether both are of one caller.",
            labels=(*self._labels, "of", "by", "whose"),
        )
        for labels, load in loads:
            for eviction in load.evictions:
                whose = (eviction.of, eviction.by, eviction.whose)
                evicted.add_metric((*labels, *whose), eviction.blocks)
        return evicted

    def _steps(self, loads: Sequence[tuple[tuple[str, str], EngineLoad]]) -> Iterator[Metric]:
        known = [(labels, load.steps) for labels, load in loads if load.steps is not None]
        for name, field, text in LIMITS:
            limit = GaugeMetricFamily(f"voiceagent_llm_{name}", text, labels=self._labels)
            for labels, steps in known:
                limit.add_metric(labels, getattr(steps, field))
            yield limit
        for name, field, text, bounds in HISTOGRAMS:
            histogram = HistogramMetricFamily(f"voiceagent_llm_{name}", text, labels=self._labels)
            for labels, steps in known:
                *counts, total = getattr(steps, field)
                ends = [*(str(float(bound)) for bound in bounds), "+Inf"]
                histogram.add_metric(labels, list(zip(ends, accumulate(counts), strict=True)), total)
            yield histogram
