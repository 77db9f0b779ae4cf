"""How many calls, and wrong keys, one caller may have. Time is an argument."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Protocol

MINUTE_S = 60.0
REMEMBERED = 4_096
"""Addresses of which wrong keys are known; the oldest is forgotten."""


class CallerShares(Protocol):
    """The calls of each caller, by whatever names he is known by."""

    def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """Count a call of a caller with these names and the most calls of each: gives what ends it, once;
        or the name that has as many already.
        """


class Shares:
    """Those of a process that takes calls alone."""

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


class WrongKeys:
    """The wrong keys that came from each address in the latest minute, at most so many."""

    def __init__(self, max_a_minute: int) -> None:
        self._max = max_a_minute
        self._counts: OrderedDict[str, tuple[float, int]] = OrderedDict()  # since when, how many

    def blocked(self, address: str, now_s: float) -> bool:
        """Whether no more keys are looked at."""
        began_s, count = self._counts.get(address, (now_s, 0))
        return count >= self._max and now_s - began_s < MINUTE_S

    def note(self, address: str, now_s: float) -> None:
        """One more came."""
        began_s, count = self._counts.pop(address, (now_s, 0))
        self._counts[address] = (began_s, count + 1) if now_s - began_s < MINUTE_S else (now_s, 1)
        while len(self._counts) > REMEMBERED:
            self._counts.popitem(last=False)
