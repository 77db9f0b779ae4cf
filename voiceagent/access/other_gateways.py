"""What a gateway asks the others behind the same load balancer about callers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from voiceagent.access.client_secrets import ClientSecret


class OtherGateways(Protocol):
    """What others know. Where they cannot be asked, they know nothing, and nobody waits long for that."""

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Have a client secret accepted by the others."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        """The client secret that another gateway gave out under this key, even one that has ended; None where
        there is none."""

    async def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call of a caller in all gateways: as `CallerShares.take`."""

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """A wrong key came from an address; enough of them, at all gateways together, shut it out."""

    def blocked(self, address: str) -> bool:
        """Whether an address is shut out for its wrong keys, at whichever gateways they came."""


class NoOtherGateways:
    """A server that is alone."""

    async def keep_secret(self, secret: ClientSecret) -> None:
        """Nobody else accepts any."""

    async def find_secret(self, key: str) -> ClientSecret | None:
        """Nobody else gives any out."""
        return None

    async def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Nobody else counts."""
        return lambda: None

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        """Nobody else counts."""

    def blocked(self, address: str) -> bool:
        """Nobody else counts."""
        return False
