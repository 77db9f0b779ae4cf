"""`[upstream]`: the realtime backend that is the core of every call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from voiceagent.validation.errors import config_error
from voiceagent.validation.section import Section

ApiName = Literal["realtime", "live"]
"""APIs that a backend may speak."""


class UpstreamConfig(Section):
    """`[upstream]`: a server of the Realtime API or the Live API, OpenAI's or another, as the core of all
    calls instead of the engines.
    """

    url: str | None = Field(default=None, pattern=r"^wss?://[^/\s?#]+[^\s?#]*$")
    """URL of the server up to and including `/v1`. Left out, the engines of this configuration are used."""
    api: ApiName = "realtime"
    """API that the server speaks: "realtime", or "live" for models such as gpt-live-1."""
    model: str | None = None
    """Model name at that server. Left out: "gpt-realtime", or "gpt-live-1" with `api = "live"`."""
    backend_model: str = "gpt-5.6-luna"
    """With `api = "live"`: the Responses model that the Live model delegates to; it calls the tools. The API
    requires one. The default is LiveKit's for gpt-live-1. If the upstream is this server, it has no effect.
    """
    api_key_env: str | None = None
    """Environment variable that holds the API key. Left out, none is sent."""
    voice: str = "marin"
    """Voice name at that server. A Python agent may choose another."""
    transcription: str = "gpt-4o-mini-transcribe"
    """Model at that server that transcribes the caller, for history and log. Unused with `api = "live"`."""
    connect_timeout_s: ClassVar[float] = 5.0
    """Longest wait for a connection, and for the answer to a ping."""
    retries: ClassVar[int] = 2
    """Further attempts after a failed or lost connection, each of at most `connect_timeout_s`. Then the
    caller hears the apology: three attempts are as long as a caller can be expected to wait.
    """

    @property
    def model_name(self) -> str:
        """Model name in force."""
        return self.model or ("gpt-live-1" if self.api == "live" else "gpt-realtime")

    def key(self, environment: Mapping[str, str], source: Path) -> str:
        """Return the API key, "" for none. Raises ConfigError."""
        if self.api_key_env is None:
            return ""
        key = environment.get(self.api_key_env, "").strip()
        if not key:
            message = "this environment variable is empty or not set; allowed: one that holds the key"
            raise config_error(source, "upstream.api_key_env", self.api_key_env, message)
        return key
