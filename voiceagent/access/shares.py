"""Number of calls of each caller."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Protocol


class CallerShares(Protocol):
    """Calls of each caller, by every identity of the caller (address, key, secret)."""

    def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call under each of these names, unless one has reached its maximum. Return that name, or a
        function that releases the call; calling that twice is safe.
        """


class Shares:
    """Calls of each caller in a server of one process."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """See `CallerShares.acquire`."""
        for name, most in names.items():
            if self._calls[name] >= most:
                return name
        self._calls.update(names.keys())
        taken = list(names)

        def release() -> None:
            for name in taken:
                self._calls[name] -= 1
                if not self._calls[name]:
                    del self._calls[name]
            taken.clear()

        return release


def digest(name: str) -> int:
    """Return an 8-byte digest of a name, never 0: the name's key in shared memory."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True) or 1
