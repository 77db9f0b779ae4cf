"""Access settings of `[server]` and `[limits]`."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, ClassVar, Self

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
    """Concurrent calls of one IP address. Phone lines and loopback addresses are exempt."""
    max_calls_per_key: int = Field(default=0, ge=0)
    """Concurrent calls of one API key. 0 sets no limit."""
    max_calls_per_secret: ClassVar[int] = 4
    """Concurrent calls of one client secret."""
    max_failed_auth_per_minute: ClassVar[int] = 20
    """Failed authentications of one address per minute. Then all keys of that address are rejected until the
    minute is over.
    """
    max_client_secrets: ClassVar[int] = 1_000
    """Client secrets that are valid at the same time. One more expires the oldest. They live for at most two
    hours, and few of them are ever used at once.
    """


class AccessConfig(Section):
    """Address of the server, and the callers that may use it."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    api_keys_env: str | None = None
    """Environment variable that holds the accepted API keys, separated by commas or spaces."""
    open: bool = False
    """Accept everyone who can reach the port. Without keys and without this, only a loopback host is allowed.
    """

    trusted_proxies: tuple[Annotated[str, AfterValidator(_networks)], ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For header is trusted. A server without keys
    accepts requests through these proxies only, which must authenticate clients themselves.
    """
    allowed_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/\s]+$")], ...] | None = None
    """Origins of web pages that may call, besides the server's own, such as "https://shop.example". Left out:
    any origin if keys are required, otherwise only the server's own.
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
