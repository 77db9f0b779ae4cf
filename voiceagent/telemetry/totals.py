"""Metrics of many processes, combined into those of one server.

prometheus-client's own multiprocess mode is not used: it is switched on by an environment variable before the
library is first imported, for the whole process and its one registry; it keeps numbers in files, in a folder
that must be emptied before each start; and it supports neither `set_function` nor custom collectors, on which
the metrics of engines and caches depend. Workers are connected to the supervisor anyway, which asks them for
their pages at each scrape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from voiceagent.telemetry.metric_table import LARGEST

Page = list[Metric]
"""Metrics collected from a registry."""

_GAUGES = ("gauge", "info", "unknown")


def summed(pages: Iterable[Page]) -> Page:
    """Sum each sample over all pages, or take the largest for `LARGEST`. Creation times are the earliest."""
    families: dict[str, tuple[Metric, dict[tuple[str, frozenset[tuple[str, str]]], Sample]]] = {}
    for family in (family for page in pages for family in page):
        _, samples = families.setdefault(family.name, (family, {}))
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            known = samples.get(key)
            samples[key] = sample if known is None else _added(known, sample)
    return [_family(like, samples.values()) for like, samples in families.values()]


def _added(one: Sample, other: Sample) -> Sample:
    if one.name in LARGEST:
        return one._replace(value=max(one.value, other.value))
    created = one.name.endswith("_created")
    return one._replace(value=min(one.value, other.value) if created else one.value + other.value)


def _family(like: Metric, samples: Iterable[Sample]) -> Metric:
    family = Metric(like.name, like.documentation, like.type, like.unit)
    family.samples = list(samples)
    return family


class Totals:
    """Last page of each worker, and the counters of dead workers, so that a total never falls."""

    def __init__(self) -> None:
        self._last: dict[int, Page] = {}
        self._removed: Page = []

    def update(self, pages: Mapping[int, Page]) -> None:
        """Store new pages of workers; a worker without a new page keeps its last."""
        self._last.update(pages)

    def remove(self, worker: int) -> None:
        """Remove a dead worker: keep its counters, drop its gauges."""
        counted = [family for family in self._last.pop(worker, []) if family.type not in _GAUGES]
        self._removed = summed([self._removed, counted])

    def registry(self, own: Page) -> CollectorRegistry:
        """Return a registry with all pages combined, including the supervisor's own."""
        registry = CollectorRegistry()
        registry.register(_Collected(summed([own, *self._last.values(), self._removed])))
        return registry


class _Collected(Collector):
    def __init__(self, page: Page) -> None:
        self._page = page

    def collect(self) -> Iterator[Metric]:
        return iter(self._page)
