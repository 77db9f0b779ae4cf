"""Export of spans and metrics to a collector in one thread, so that calls never wait.

Data that the collector does not accept in time is dropped and counted.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import time_ns
from uuid import uuid4

import structlog
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as OtlpMetric
from opentelemetry.sdk.resources import SERVICE_INSTANCE_ID, SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from voiceagent import __version__
from voiceagent.telemetry.metric_table import counter_family
from voiceagent.telemetry.otlp.config import OtlpConfig
from voiceagent.telemetry.otlp.trace.attributes import CONVENTIONS
from voiceagent.telemetry.otlp.trace.spans import Span

MAX_WAITING = 8_192
"""Spans queued for sending, some 8 MB; more are dropped. 100 calls make 60 a second."""
BATCH = 512
SEND_INTERVAL_S = 1.0
"""Interval at which queued data is sent."""
TIMEOUT_S = 5.0
"""Timeout of one batch, including a retry if the collector's answer allows one."""
END_S = 3.0
"""Timeout of the last batches at shutdown."""

_KINDS = {"server": SpanKind.SERVER, "client": SpanKind.CLIENT, "internal": SpanKind.INTERNAL}
_SCOPE = InstrumentationScope("voiceagent", __version__, None, {"voiceagent.gen_ai.semconv": CONVENTIONS})

log = structlog.get_logger()


class Exporter:
    """Sends spans and metrics to the configured collector. registry: for the metrics about the export."""

    def __init__(self, config: OtlpConfig, registry: CollectorRegistry) -> None:
        self._resource = _resource()
        self._spans = OTLPSpanExporter(config.address("traces"), timeout=TIMEOUT_S)
        self._metrics = OTLPMetricExporter(config.address("metrics"), timeout=TIMEOUT_S)
        # this module logs a failing collector once, the SDK every time
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._waiting: deque[Span] = deque()
        self._page: Sequence[Metric] | None = None
        self._counts = _Counts()
        registry.register(self._counts)
        self._ending = threading.Event()
        self._failing: set[str] = set()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="send traces", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, spans: Sequence[Span]) -> None:
        """Queue ended spans; drop and count them if too many are queued. Does not block."""
        for span in spans:
            if len(self._waiting) < MAX_WAITING:
                self._waiting.append(span)
            else:
                self._counts.dropped += 1

    def send_metrics(self, page: Sequence[Metric]) -> None:
        """Send this page of metrics next, in place of one that is still queued. Does not block."""
        self._page = page

    def close(self) -> None:
        """Send queued data for up to `END_S`, and stop."""
        self._ending.set()
        self._thread.join(END_S)
        self._closed = True
        self._counts.dropped += len(self._waiting)

    def _run(self) -> None:
        ended = False
        while not ended:
            ended = self._ending.wait(SEND_INTERVAL_S)
            try:
                self._send_all()
            except Exception as error:  # a bug must not end all further exports
                log.error("export_failed", exc_info=error)

    def _send_all(self) -> None:
        while self._waiting and not self._closed:
            batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
            sent = (
                self._spans.export([readable(span, self._resource) for span in batch])
                is SpanExportResult.SUCCESS
            )
            self._log_change("spans", sent)
            if sent:
                self._counts.sent += len(batch)
            else:
                self._counts.dropped += len(batch)
        page, self._page = self._page, None
        if page is not None:
            result = self._metrics.export(metrics_data(page, self._resource, _SCOPE))
            self._log_change("metrics", result is MetricExportResult.SUCCESS)

    def _log_change(self, what: str, sent: bool) -> None:
        if self._closed:  # `close` no longer waits for this batch
            return
        if sent and what in self._failing:
            self._failing.remove(what)
            log.info("collector_recovered", signal=what)
        elif not sent and what not in self._failing:
            self._failing.add(what)
            log.warning("collector_failed", signal=what, effect="they are dropped until it is back")


def readable(span: Span, resource: Resource) -> ReadableSpan:
    """Convert a span to the SDK's class."""
    return ReadableSpan(
        span.name,
        _context(span.trace_id, span.span_id),
        _context(span.trace_id, span.parent_id, span.remote_parent) if span.parent_id else None,
        resource,
        {**span.attributes, **({"error.type": span.error} if span.error else {})},
        kind=_KINDS[span.kind],
        status=Status(StatusCode.ERROR if span.error else StatusCode.UNSET),
        start_time=span.start_ns,
        end_time=span.end_ns,
        instrumentation_scope=_SCOPE,
    )


class _Counts(Collector):
    """Counters of sent and dropped spans, for Prometheus."""

    def __init__(self) -> None:
        self.sent = self.dropped = 0

    def collect(self) -> Iterator[Metric]:
        for name, value in (("spans_sent", self.sent), ("spans_dropped", self.dropped)):
            family = counter_family(name)
            family.add_metric((), value)
            yield family


def _resource() -> Resource:
    """Return the resource of this process. OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES take precedence."""
    ours = {SERVICE_NAME: "voiceagent", SERVICE_VERSION: __version__, SERVICE_INSTANCE_ID: uuid4().hex}
    result = Resource.create().attributes
    unnamed = str(result.get(SERVICE_NAME, "")).startswith("unknown_service")
    return Resource(ours).merge(
        Resource({k: v for k, v in result.items() if k != SERVICE_NAME or not unnamed})
    )


def _context(trace_id: str, span_id: str, remote: bool = False) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), remote, TraceFlags(TraceFlags.SAMPLED))


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
