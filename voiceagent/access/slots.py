"""Room for calls."""

from __future__ import annotations

from typing import Protocol


class Places(Protocol):
    """Places for calls, `most` of them."""

    @property
    def most(self) -> int:
        """How many there are."""

    @property
    def taken(self) -> int:
        """How many are taken."""

    def take(self) -> bool:
        """Take one, if one is left."""

    def leave(self) -> None:
        """Give one back."""


class OwnPlaces:
    """Those of a process that takes calls alone."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.taken = 0

    def take(self) -> bool:
        """Take one, if one is left."""
        if self.taken >= self.most:
            return False
        self.taken += 1
        return True

    def leave(self) -> None:
        """Give one back."""
        self.taken -= 1
