"""Tracing of calls, if configured. The extra `otlp` is imported only then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING

from prometheus_client.metrics_core import Metric

from voiceagent.config.tables import Config
from voiceagent.session.services import Services
from voiceagent.telemetry.metrics import Metrics
from voiceagent.telemetry.otlp.trace.attributes import EngineNames
from voiceagent.telemetry.otlp.trace.spans import Span
from voiceagent.upstream.messages import UPSTREAM_HZ
from voiceagent.validation.errors import config_error

if TYPE_CHECKING:
    from voiceagent.telemetry.otlp.exporter import Exporter
    from voiceagent.telemetry.otlp.traced_call import TracedCall


UPSTREAM = "upstream"
"""Engine name in traces of upstream calls."""


def new_exporter(config: Config, metrics: Metrics) -> Exporter | None:
    """Return the exporter of traces and metrics, not started, None if not configured. Raises ConfigError."""
    if not config.otlp.endpoint:
        return None
    try:
        from voiceagent.telemetry.otlp.exporter import Exporter  # noqa: PLC0415  it brings the extra `otlp`
    except ImportError as error:
        message = f"needs pip install 'voiceagent-server[otlp]': {error}"
        raise config_error(config.source, "otlp.endpoint", config.otlp.endpoint, message) from error
    return Exporter(config.otlp, metrics.registry)


def tracer(
    config: Config, send: Callable[[Sequence[Span]], None], services: Services
) -> Callable[[str], TracedCall]:
    """Return a function that begins to trace a call, by its id. send: receives ended spans."""
    from voiceagent.telemetry.otlp.traced_call import TracedCall, Tracing  # noqa: PLC0415  as above

    made_with = EngineNames(
        config.recognizer.engine,
        config.llm.engine,
        _name(str(config.llm.options.get("model", ""))),
        config.synthesizer.engine,
        services.speaking.synthesizer.rate_hz,
    )
    if config.upstream.url is not None:  # local engines, if any, do not serve such calls
        made_with = EngineNames(UPSTREAM, UPSTREAM, config.upstream.model_name, UPSTREAM, UPSTREAM_HZ)
    otlp, clock = config.otlp, services.measuring.clock
    tracing = Tracing(made_with, otlp.sample, otlp.personal_data, clock, send)
    return lambda call_id: TracedCall(call_id, tracing)


def _name(model: str) -> str:
    """Return the name of a model; for a path, the name of its folder."""
    return PurePath(model).name if model.startswith((".", "/", "~", "package:")) else model


@asynccontextmanager
async def exporting(
    exporter: Exporter | None,
    metrics_s: float = 0.0,
    collect: Callable[[], Awaitable[list[Metric]]] | None = None,
) -> AsyncIterator[None]:
    """Export for the length of the block, if configured; queued data is sent at the end. collect: returns the
    metrics, called every `metrics_s`.
    """
    if exporter is None:
        yield
        return
    exporter.start()
    sending = None
    if metrics_s and collect is not None:
        sending = asyncio.create_task(_send_metrics(exporter, metrics_s, collect), name="send metrics")
    try:
        yield
    finally:
        if sending is not None:
            sending.cancel()
        await asyncio.to_thread(exporter.close)


async def _send_metrics(
    exporter: Exporter, every_s: float, collect: Callable[[], Awaitable[list[Metric]]]
) -> None:
    while True:
        await asyncio.sleep(every_s)
        exporter.send_metrics(await collect())
