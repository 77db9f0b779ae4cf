"""Conversion of Prometheus metrics to OTLP, with the same names, values and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from time import time_ns

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

_CUMULATIVE = AggregationTemporality.CUMULATIVE
Labels = tuple[tuple[str, str], ...]


def metrics_data(
    page: Iterable[Metric], resource: Resource, scope: InstrumentationScope, now_ns: int | None = None
) -> MetricsData:
    """Convert the collected metrics of a registry. now_ns: Unix time of the collection, now by default."""
    at_ns = time_ns() if now_ns is None else now_ns
    metrics = [_metric(family, at_ns) for family in page]
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, metrics, "")], "")])


def _metric(family: Metric, at_ns: int) -> OtlpMetric:
    data: Sum | Gauge | Histogram
    began_ns = _began_ns(family.samples)
    if family.type == "histogram":
        data = Histogram(_histogram_points(family.samples, began_ns, at_ns), _CUMULATIVE)
    elif family.type == "counter":
        totals = [sample for sample in family.samples if sample.name.endswith("_total")]
        data = Sum([_point(sample, began_ns, at_ns) for sample in totals], _CUMULATIVE, is_monotonic=True)
    else:
        known = [sample for sample in family.samples if not math.isnan(sample.value)]
        data = Gauge([_point(sample, began_ns, at_ns) for sample in known])
    return OtlpMetric(family.name, family.documentation, family.unit, data)


def _point(sample: Sample, began_ns: Mapping[Labels, int], at_ns: int) -> NumberDataPoint:
    return NumberDataPoint(dict(sample.labels), began_ns.get(_labels(sample.labels), 0), at_ns, sample.value)


def _histogram_points(
    samples: Sequence[Sample], began_ns: Mapping[Labels, int], at_ns: int
) -> list[HistogramDataPoint]:
    """Return one data point per set of labels. Prometheus' buckets are cumulative, OTLP's are not."""
    bounds: dict[Labels, list[float]] = {}
    counts: dict[Labels, list[int]] = {}
    sums: dict[Labels, float] = {}
    for sample in samples:
        labels = _labels(sample.labels)
        if sample.name.endswith("_bucket"):
            bounds.setdefault(labels, []).append(float(sample.labels["le"]))
            counts.setdefault(labels, []).append(round(sample.value))
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    return [
        HistogramDataPoint(
            dict(labels),
            began_ns.get(labels, 0),
            at_ns,
            upto[-1],
            sums.get(labels, 0.0),
            [count - before for before, count in zip([0, *upto], upto, strict=False)],
            [bound for bound in bounds[labels] if not math.isinf(bound)],
            min=None,  # type: ignore[arg-type]  # not known, which the message has room for and the type has not
            max=None,  # type: ignore[arg-type]
        )
        for labels, upto in counts.items()
    ]


def _began_ns(samples: Sequence[Sample]) -> dict[Labels, int]:
    """Return the start times of the series in Unix nanoseconds, by labels."""
    created = [sample for sample in samples if sample.name.endswith("_created")]
    return {_labels(sample.labels): round(sample.value * 1e9) for sample in created}


def _labels(labels: Mapping[str, str]) -> Labels:
    return tuple(sorted((name, value) for name, value in labels.items() if name != "le"))
