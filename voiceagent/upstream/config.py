"""`[upstream]`: the server of the Realtime API that is the core of every call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from voiceagent.validation.errors import problem
from voiceagent.validation.section import Duration, Section


class UpstreamConfig(Section):
    """`[upstream]`: OpenAI's, or any other that speaks the Realtime API over WebSocket."""

    url: str | None = Field(default=None, pattern=r"^wss?://[^/\s?#]+[^\s?#]*$")
    """Where it listens, up to and with `/v1`; left out, the engines here are the core of calls."""
    model: str = "gpt-realtime"
    """The model's name at that server."""
    api_key_env: str | None = None
    """Name of the environment variable with the key; left out, none is sent."""
    voice: str = "marin"
    """Its name there; an agent in Python may have another."""
    transcription: str = "gpt-4o-mini-transcribe"
    """The model that writes down what the caller says, for history and log."""
    connect_timeout_s: Duration = 5.0
    """How long a connection may take, and an answer to the pings that find out whether the upstream hangs."""
    retries: int = Field(default=2, ge=0)
    """Further tries of a connection that could not be made, or was lost; after them the caller hears the
    apology."""

    def key(self, environment: Mapping[str, str], source: Path) -> str:
        """The key, "" for none. Raises ConfigError."""
        if self.api_key_env is None:
            return ""
        key = environment.get(self.api_key_env, "").strip()
        if not key:
            message = "holds no key; allowed: a variable with the key of the upstream"
            raise problem(source, "upstream.api_key_env", self.api_key_env, message)
        return key
