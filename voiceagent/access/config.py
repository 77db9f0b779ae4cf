"""The part of `[server]` that says who may call."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.validation.section import Section

LOOPBACK = ("127.0.0.1", "::1", "localhost")
"""Hosts that nobody but this machine reaches."""


def _networks(given: str) -> str:
    return str(ip_network(given))


class AccessLimits(Section):
    """What callers may take together, in all workers."""

    max_calls_per_address: int = Field(default=10, ge=1)
    """Calls of one IP address at once; phone lines and this machine's own are not held to it."""
    max_calls_per_key: int = Field(default=0, ge=0)
    """Calls with one API key at once; 0: as many as there may be."""
    max_calls_per_secret: int = Field(default=4, ge=1)
    """Calls with one client secret at once."""
    max_wrong_keys: int = Field(default=20, ge=1)
    """Wrong keys of one address in a minute, after which none of its keys are looked at in that minute."""
    max_client_secrets: int = Field(default=1_000, ge=1)
    """Client secrets at once; beyond that the oldest ends early."""


class AccessConfig(Section):
    """Who reaches the server, and who of them may call."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    api_keys_env: str | None = None
    """Name of the environment variable with the accepted API keys, separated by commas or spaces."""
    open: bool = False
    """Let everyone in who reaches the port. Without it, and without keys, only a loopback host is allowed."""

    trusted_proxies: tuple[Annotated[str, AfterValidator(_networks)], ...] = ()
    """Addresses and networks of proxies whose X-Forwarded-For tells who asks. Without keys nothing is taken
    through any other; what these pass on is let in, as they are to ask for keys themselves."""
    allowed_origins: tuple[Annotated[str, Field(pattern=r"^https?://[^/\s]+$")], ...] | None = None
    """Pages that may call beside this server's own, as "https://shop.example"; left out, those of any site
    where keys are asked for, and no others where none are."""

    @model_validator(mode="after")
    def _closed_to_strangers(self) -> Self:
        if self.host not in LOOPBACK and self.api_keys_env is None and not self.open:
            raise PydanticCustomError(
                "open_server",
                "others reach host {host}: set api_keys_env, or open = true; allowed without: {loopback}",
                {"host": self.host, "loopback": ", ".join(LOOPBACK)},
            )
        return self
