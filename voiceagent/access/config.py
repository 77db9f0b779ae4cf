"""The part of `[server]` that says who may call."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Section

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that nobody but this machine reaches."""


class AccessConfig(Section):
    """Who reaches the server, and who of them may call."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    api_keys_env: str | None = None
    """Name of the environment variable with the accepted API keys, separated by commas or spaces."""
    open: bool = False
    """Let everyone in who reaches the port. Without it, and without keys, only a loopback host is allowed."""

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        if self.host not in LOOPBACK and self.api_keys_env is None and not self.open:
            raise PydanticCustomError(
                "open_server",
                "others reach host {host}: set api_keys_env, or open = true; allowed without: {loopback}",
                {"host": self.host, "loopback": ", ".join(LOOPBACK)},
            )
        return self
