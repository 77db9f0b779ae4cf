"""Access settings of `[server]` and `[limits]`."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Section

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that only this machine can reach."""


def _networks(given: str) -> str:
    return str(ip_network(given))


class AccessLimits(Section):
    """Limits per caller, counted over all workers."""

    max_calls_per_address: int = Field(default=10, ge=1)
    """Concurrent calls of one IP address; telephony providers and this machine are exempt."""
    max_calls_per_key: int = Field(default=0, ge=0)
    """Concurrent calls with one API key; 0 for no limit."""
    max_calls_per_secret: int = Field(default=4, ge=1)
    """Concurrent calls with one client secret."""
    max_wrong_keys: int = Field(default=20, ge=1)
    """Wrong keys per address and minute; after that all keys from the address are refused for that minute."""
    max_client_secrets: int = Field(default=1_000, ge=1)
    """Maximum number of client secrets; beyond it the oldest is removed."""


class AccessConfig(Section):
    """Address of the server, and the callers that may use it."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    api_keys_env: str | None = None
    """Name of the environment variable with the accepted API keys, separated by commas or spaces."""
    open: bool = False
    """Let in everyone who reaches the port. Without it, and without keys, only a loopback host is allowed."""

    trusted_proxies: tuple[Annotated[str, AfterValidator(_networks)], ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For is believed. Without keys, requests through any
    other proxy are refused; those through these are accepted, because the proxy must authenticate them.
    """
    allowed_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/\s]+$")], ...] | None = None
    """Origins of pages that may call, besides the server's own, as "https://shop.example". Default: any
    origin if keys are required, otherwise none.
    """

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        if self.host not in LOOPBACK and self.api_keys_env is None and not self.open:
            raise PydanticCustomError(
                "open_server",
                "others reach host {host}: set api_keys_env, or open = true; allowed without: {loopback}",
                {"host": self.host, "loopback": ", ".join(LOOPBACK)},
            )
        return self
