"""How many calls one caller may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Protocol


class CallerShares(Protocol):
    """The calls of each caller, by whatever names he is known by."""

    def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call of a caller with these names and the most calls of each: gives what ends it, once;
        or the name that has as many already.
        """


class Shares:
    """The shares of callers in a process that takes calls alone."""

    def __init__(self) -> None:
        self._calls: Counter[str] = Counter()

    def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """As `CallerShares` has it."""
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
    """Eight bytes for a name, never 0: what processes that share memory know it by."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True) or 1
