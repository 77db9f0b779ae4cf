"""Where the moments of a call stand in its recording: one axis for what was heard and what was done. Pure.

What the caller said is told by his own sound, whose clock stands still while he sends nothing; all else by
the monotonic clock. Records know both, and so one can be converted into the other. A call without a recording
has the clock for its axis.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple


class Moment(NamedTuple):
    """clock_s: monotonic seconds. at_s: position in the caller's sound, where it is known by that; None
    where it is not.
    """

    clock_s: float
    at_s: float | None = None


class TimeAxis:
    """Seconds from the call's begin. began_s: monotonic seconds then."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self._rate_hz = 0
        self._clocks_s: list[float] = []
        self._received_s: list[float] = []
        self._silent_at_s: list[float] = []  # positions in the caller's sound
        self._silent_s = [0.0]  # in all, before each of them

    @property
    def rate_hz(self) -> int:
        """The recording's, 0 where there is none."""
        return self._rate_hz

    def recorded(self, rate_hz: int) -> None:
        """There is a recording, at that rate."""
        self._rate_hz = rate_hz

    def record(self, clock_s: float, received_s: float) -> None:
        """By `clock_s`, this much of the caller's sound had come. To be called in the order of time."""
        if not self._received_s or received_s > self._received_s[-1]:
            self._clocks_s.append(clock_s)
            self._received_s.append(received_s)

    def silent(self, since: int, until: int) -> None:
        """The recording has silence there that the caller did not send; samples, in order."""
        if self._rate_hz:
            self._silent_at_s.append(since / self._rate_hz - self._silent_s[-1])
            self._silent_s.append(self._silent_s[-1] + (until - since) / self._rate_hz)

    def place(self, moment: Moment) -> float:
        """Seconds on the axis, none before the call's begin."""
        if not self._rate_hz or moment.at_s is None:
            return self._by_clock(moment.clock_s)
        return self._heard(moment.at_s, bisect_right(self._silent_at_s, moment.at_s + self._half_a_sample_s))

    def sample(self, sample: int) -> float:
        """Where a sample of the recording stands."""
        return sample / self._rate_hz if self._rate_hz else 0.0

    def _by_clock(self, clock_s: float) -> float:
        """The moment counted from the newest record before it that had new sound; never beyond what the next
        one had."""
        if not self._rate_hz:
            return max(0.0, clock_s - self._began_s)
        index = bisect_right(self._clocks_s, clock_s)
        passed_s = clock_s - (self._clocks_s[index - 1] if index else self._began_s)
        at_s = max(0.0, self._received(index - 1) + passed_s)
        return min(at_s, self._received(index)) if index < len(self._clocks_s) else at_s

    def _received(self, index: int) -> float:
        """Where the sound ended that had come by a record; a silence that it ends at comes behind it."""
        if index < 0:
            return 0.0
        received_s = self._received_s[index]
        return self._heard(received_s, bisect_left(self._silent_at_s, received_s - self._half_a_sample_s))

    @property
    def _half_a_sample_s(self) -> float:
        """Positions that differ by less are the same one."""
        return 0.5 / self._rate_hz

    def _heard(self, at_s: float, silences: int) -> float:
        return at_s + self._silent_s[silences]
