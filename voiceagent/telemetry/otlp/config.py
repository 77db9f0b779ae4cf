"""`[otlp]`: where traces and metrics are sent."""

from __future__ import annotations

from pydantic import Field

from voiceagent.validation.section import Seconds, Section


class OtlpConfig(Section):
    """`[otlp]`: traces and metrics by OpenTelemetry (needs the extra `otlp`). The standard variables
    OTEL_EXPORTER_OTLP_HEADERS and OTEL_SERVICE_NAME apply.
    """

    endpoint: str = Field(default="", pattern=r"^(https?://[^\s?#]+)?$")
    """OTLP collector, such as "http://127.0.0.1:4318". Traces go to `/v1/traces` and metrics to `/v1/metrics`
    below it. "" sends nothing.
    """
    sample: float = Field(default=1.0, ge=0, le=1)
    """Share of calls that are traced, unless the caller's own trace decides."""
    personal_data: bool = False
    """Export transcripts, tool arguments and tool results, as attributes under `voiceagent.content.`"""
    metrics_s: Seconds = 0.0
    """Interval at which metrics are exported. 0 exports none."""

    def address(self, signal: str) -> str:
        """Return the URL for "traces" or "metrics"."""
        return f"{self.endpoint.rstrip('/')}/v1/{signal}"
