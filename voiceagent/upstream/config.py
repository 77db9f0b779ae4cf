"""`[upstream]`: the realtime backend that is the core of every call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from voiceagent.validation.errors import problem
from voiceagent.validation.section import Duration, Section


class UpstreamConfig(Section):
    """`[upstream]`: OpenAI's, or another server with the Realtime API over WebSocket."""

    url: str | None = Field(default=None, pattern=r"^wss?://[^/\s?#]+[^\s?#]*$")
    """Address, up to and including `/v1`; left out, calls use the engines of this server."""
    model: str = "gpt-realtime"
    """The backend's model name."""
    api_key_env: str | None = None
    """Environment variable with the API key; left out, none is sent."""
    voice: str = "marin"
    """The backend's voice name; an agent in Python may choose another."""
    transcription: str = "gpt-4o-mini-transcribe"
    """Model that transcribes the caller, for history and log."""
    connect_timeout_s: Duration = 5.0
    """Timeout for connecting, and for the pongs that detect a hanging backend."""
    retries: int = Field(default=2, ge=0)
    """Attempts to reconnect after a failed or lost connection; after them the caller hears the apology."""

    def key(self, environment: Mapping[str, str], source: Path) -> str:
        """Return the API key, "" for none. Raises ConfigError."""
        if self.api_key_env is None:
            return ""
        key = environment.get(self.api_key_env, "").strip()
        if not key:
            message = "holds no key; allowed: a variable with the key of the upstream"
            raise problem(source, "upstream.api_key_env", self.api_key_env, message)
        return key
