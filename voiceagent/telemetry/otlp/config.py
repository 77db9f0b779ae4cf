"""`[otlp]`: where traces and metrics are sent."""

from __future__ import annotations

from pydantic import Field

from voiceagent.validation.section import Seconds, Section


class OtlpConfig(Section):
    """`[otlp]`: needs the extra `otlp`. Headers, as of a service that wants a key, are taken from
    OTEL_EXPORTER_OTLP_HEADERS, and the name of the service from OTEL_SERVICE_NAME, as everywhere.
    """

    endpoint: str = Field(default="", pattern=r"^(https?://[^\s?#]+)?$")
    """A collector's address, as "http://127.0.0.1:4318": traces go to `/v1/traces` below it, metrics to
    `/v1/metrics`. "" sends nothing."""
    sample: float = Field(default=1.0, ge=0, le=1)
    """Part of the calls that are traced, where the caller's own trace does not say."""
    content: bool = False
    """Send words too: what callers and agent say, what tools are given and answer. Their attributes all begin
    with `voiceagent.content.`"""
    metrics_s: Seconds = 0.0
    """How often the metrics are sent; 0 never sends them."""

    def address(self, signal: str) -> str:
        """Return the URL for "traces" or "metrics"."""
        return f"{self.endpoint.rstrip('/')}/v1/{signal}"
