"""`[server]`: its part about access is checked in access/, the rest is for the composition root alone."""

from __future__ import annotations

from pydantic import Field

from voiceagent.access.config import AccessConfig
from voiceagent.validation.section import Seconds


class ServerConfig(AccessConfig):
    """`[server]`: where calls arrive, who may call, and how many at once."""

    port: int = Field(default=8080, ge=0, le=65_535)
    """Port of HTTP and WebSocket; 0 takes a free one."""
    max_calls: int = Field(default=20, ge=1)
    """Calls at once; one more is refused with HTTP 503."""
    workers: int = Field(default=1, ge=1)
    """Processes that take calls, about one a core; beside more than one, another holds the engines."""
    drain_s: Seconds = 30.0
    """After SIGTERM, how long running calls may go on before they are closed."""
    input_buffer_s: float = Field(default=10.0, gt=0)
    """How far ahead of real time a client may send the caller's sound; what comes earlier is refused."""
    max_message_bytes: int = Field(default=1_048_576, ge=4_096)
    """Longest WebSocket message; a longer one closes the call with code 1009."""
