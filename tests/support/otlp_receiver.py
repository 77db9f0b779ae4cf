"""A collector of OTLP over HTTP: records requests, decoded by the protocol's own messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

PATIENCE_S = 20.0


@dataclass(frozen=True)
class ReceivedSpan:
    """A span; ids in hexadecimal, times in Unix nanoseconds. ok: its status is no error."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    ok: bool

    @property
    def length_s(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9


@dataclass
class Received:
    """Requests received. resource: the attributes of the last resource. metrics: by name, the last one."""

    spans: list[ReceivedSpan] = field(default_factory=list)
    resource: dict[str, Any] = field(default_factory=dict)
    scope: dict[str, Any] = field(default_factory=dict)
    headers: list[dict[str, str]] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def of(self, name: str) -> list[ReceivedSpan]:
        """The spans of that name, or whose name begins with it and a space, in order."""
        found = [span for span in self.spans if span.name == name or span.name.startswith(f"{name} ")]
        return sorted(found, key=lambda span: span.start_ns)

    def until(self, name: str, number: int = 1) -> list[ReceivedSpan]:
        """Wait for so many spans of that name; the time-out only ends a test that hangs."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.of(name)) >= number, PATIENCE_S)
        return self.of(name)

    def until_metric(self, name: str) -> Any:
        with self.changed:
            assert self.changed.wait_for(lambda: name in self.metrics, PATIENCE_S)
        return self.metrics[name]

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        with self.changed:
            self.headers.append(headers)
            if path.endswith("/v1/traces"):
                self._take_spans(ExportTraceServiceRequest.FromString(body))
            else:
                for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                    for scope in resource.scope_metrics:
                        self.metrics |= {metric.name: metric for metric in scope.metrics}
            self.changed.notify_all()

    def _take_spans(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.resource = _attributes(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.scope = _attributes(scope.scope.attributes)
                self.spans += [
                    ReceivedSpan(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.start_time_unix_nano,
                        span.end_time_unix_nano,
                        _attributes(span.attributes),
                        span.status.code != span.status.STATUS_CODE_ERROR,
                    )
                    for span in scope.spans
                ]


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


@contextmanager
def otlp_receiver(hangs: threading.Event | None = None, port: int = 0) -> Iterator[tuple[str, Received]]:
    """The address of a collector, and what it gets. hangs: none of its answers come before this is set."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            received.take(self.path, body, dict(self.headers))
            if hangs is not None:
                hangs.wait(PATIENCE_S)
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        if hangs is not None:
            hangs.set()
        server.shutdown()
        server.server_close()
