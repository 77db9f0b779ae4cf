"""The wrong keys that come from each address, counted in memory that several processes may share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from voiceagent.access.shares import digest

MINUTE_S = 60.0
_SETS, _WAYS = 1_024, 4
"""An address has its place in one set; where that is full, the one that was noted first is forgotten."""
_FIELDS = 3  # of each place: the digest of the address, since when in microseconds, how many
_US = 1_000_000
NUMBERS = _SETS * _WAYS * _FIELDS
"""How many numbers of eight bytes it takes to count them."""


class WrongKeys:
    """The wrong keys that came from each address within a minute of the first. Time is an argument.

    numbers: `NUMBERS` of them, zeros at first, in which other processes may count too. locked: none of these
    counts while it is held.
    """

    def __init__(
        self,
        numbers: memoryview[int] | None = None,
        locked: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._numbers = memoryview(bytearray(8 * NUMBERS)).cast("q") if numbers is None else numbers
        self._locked = locked

    def blocked(self, address: str, now_s: float, max_a_minute: int) -> bool:
        """Whether no more keys are looked at."""
        at = self._find(digest(address), round(now_s * _US))  # of every request: without the lock
        return at is not None and self._numbers[at + 2] >= max_a_minute

    def note(self, address: str, now_s: float) -> None:
        """One more came."""
        named, now_us, numbers = digest(address), round(now_s * _US), self._numbers
        with self._locked():
            at = self._find(named, now_us)
            if at is None:
                at = min(_places(named), key=lambda place: numbers[place + 1])
                numbers[at + 2], numbers[at + 1], numbers[at] = 0, now_us, named
            numbers[at + 2] += 1

    def _find(self, named: int, now_us: int) -> int | None:
        """Where an address is counted now. What was noted before the clock was set back counts no more."""
        for at in _places(named):
            passed_us = now_us - self._numbers[at + 1]
            if self._numbers[at] == named and 0 <= passed_us < MINUTE_S * _US:
                return at
        return None


def _places(named: int) -> range:
    """The places of its set."""
    first = named % _SETS * _WAYS * _FIELDS
    return range(first, first + _WAYS * _FIELDS, _FIELDS)
