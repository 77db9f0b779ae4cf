"""Counts of each caller: the calls at present, and the wrong keys of the last minute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Protocol

MINUTE_S = 60.0
_SETS, _WAYS = 1_024, 4
"""A set-associative table: an address is stored in one set; in a full set the oldest entry is replaced."""
_FIELDS = 3  # of an entry: digest of the address, start time in microseconds, count
_US = 1_000_000
NUMBERS = _SETS * _WAYS * _FIELDS
"""Size of the table, in 8-byte numbers."""


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


class WrongKeys:
    """Wrong keys of each address within a minute of the first. Time is an argument.

    numbers: `NUMBERS` zeros, or memory shared with other processes. locked: excludes the other processes.
    """

    def __init__(
        self,
        numbers: memoryview[int] | None = None,
        locked: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._numbers = memoryview(bytearray(8 * NUMBERS)).cast("q") if numbers is None else numbers
        self._locked = locked

    def blocked(self, address: str, now_s: float, max_a_minute: int) -> bool:
        """Return True if all keys from the address are refused."""
        at = self._find(digest(address), round(now_s * _US))  # without the lock: runs for every request
        return at is not None and self._numbers[at + 2] >= max_a_minute

    def note(self, address: str, now_s: float) -> None:
        named, now_us, numbers = digest(address), round(now_s * _US), self._numbers
        with self._locked():
            at = self._find(named, now_us)
            if at is None:
                at = min(_places(named), key=lambda place: numbers[place + 1])
                numbers[at + 2], numbers[at + 1], numbers[at] = 0, now_us, named
            numbers[at + 2] += 1

    def _find(self, named: int, now_us: int) -> int | None:
        """Return the index of the address's entry, None if it has none or it has expired. An entry from the
        future, left by a clock that was set back, counts as expired.
        """
        for at in _places(named):
            passed_us = now_us - self._numbers[at + 1]
            if self._numbers[at] == named and 0 <= passed_us < MINUTE_S * _US:
                return at
        return None


def _places(named: int) -> range:
    """Return the indices of the entries of an address's set."""
    first = named % _SETS * _WAYS * _FIELDS
    return range(first, first + _WAYS * _FIELDS, _FIELDS)
