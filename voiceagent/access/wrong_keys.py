"""Counts of wrong keys per address, in memory that several processes may share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from voiceagent.access.shares import digest

MINUTE_S = 60.0
_SETS, _WAYS = 1_024, 4
"""A set-associative table: an address is stored in one set; in a full set the oldest entry is replaced."""
_FIELDS = 3  # of an entry: digest of the address, start time in microseconds, count
_US = 1_000_000
NUMBERS = _SETS * _WAYS * _FIELDS
"""Size of the table, in 8-byte numbers."""


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
        """Count a wrong key."""
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
