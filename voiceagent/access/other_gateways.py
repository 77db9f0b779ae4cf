"""Questions to the other gateways behind the same load balancer, about callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from voiceagent.access.client_secrets import ClientSecret


class OtherGateways(Protocol):
    """Callers' state on other gateways. If they cannot be reached, methods return soon, as if there were
    none.
    """

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Make the other gateways accept a client secret."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        """Return the client secret that another gateway issued under this key, expired ones included; None if
        unknown.
        """

    async def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call of a caller over all gateways, as `CallerShares.take` does."""

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """Count a wrong key from an address; enough of them, over all gateways, block it."""

    def blocked(self, address: str) -> bool:
        """Return True if an address is blocked for wrong keys sent to any gateway."""


class NoOtherGateways:
    """The other gateways of a server that runs alone: none."""

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Do nothing."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        """Return None."""
        return None

    async def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Return a release function that does nothing."""
        return lambda: None

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """Do nothing."""

    def blocked(self, address: str) -> bool:
        """Return False."""
        return False
