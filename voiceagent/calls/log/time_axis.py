"""Common time axis of a call: positions of events in its recording.

The caller's speech has positions in the caller's audio, whose clock stops while nothing is sent; everything
else has monotonic time. Records have both, so that one can be converted into the other. A call without a
recording uses the clock.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import NamedTuple


class Moment(NamedTuple):
    """A point in time. clock_s: monotonic seconds. at_s: its position in the caller's audio, which counts
    instead; None if it has none.
    """

    clock_s: float
    at_s: float | None = None


class TimeAxis:
    """Seconds from the start of the call. began_s: monotonic seconds then."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self._rate_hz = 0
        self._clocks_s: list[float] = []
        self._received_s: list[float] = []
        self._silent_at_s: list[float] = []  # positions in the caller's audio
        self._silent_s = [0.0]  # total silence before each of them

    @property
    def rate_hz(self) -> int:
        """Sample rate of the recording, 0 without one."""
        return self._rate_hz

    def recorded(self, rate_hz: int) -> None:
        """Set the sample rate of the recording."""
        self._rate_hz = rate_hz

    def record(self, clock_s: float, received_s: float) -> None:
        """Record how much of the caller's audio was received at `clock_s`. Call in order of time."""
        if not self._received_s or received_s > self._received_s[-1]:
            self._clocks_s.append(clock_s)
            self._received_s.append(received_s)

    def silent(self, since: int, until: int) -> None:
        """Add an inserted silence, in samples of the recording, in order."""
        if self._rate_hz:
            self._silent_at_s.append(since / self._rate_hz - self._silent_s[-1])
            self._silent_s.append(self._silent_s[-1] + (until - since) / self._rate_hz)

    def place(self, moment: Moment) -> float:
        """Return seconds on the axis, at least 0."""
        if not self._rate_hz or moment.at_s is None:
            return self._by_clock(moment.clock_s)
        return self._heard(moment.at_s, bisect_right(self._silent_at_s, moment.at_s + self._half_a_sample_s))

    def sample(self, sample: int) -> float:
        """Return the seconds of a sample of the recording."""
        return sample / self._rate_hz if self._rate_hz else 0.0

    def _by_clock(self, clock_s: float) -> float:
        """Convert clock time by the last record before it with new audio, at most to the next one's."""
        if not self._rate_hz:
            return max(0.0, clock_s - self._began_s)
        index = bisect_right(self._clocks_s, clock_s)
        passed_s = clock_s - (self._clocks_s[index - 1] if index else self._began_s)
        at_s = max(0.0, self._received(index - 1) + passed_s)
        return min(at_s, self._received(index)) if index < len(self._clocks_s) else at_s

    def _received(self, index: int) -> float:
        """Return the position of the audio received by a record, before a silence that begins there."""
        if index < 0:
            return 0.0
        received_s = self._received_s[index]
        return self._heard(received_s, bisect_left(self._silent_at_s, received_s - self._half_a_sample_s))

    @property
    def _half_a_sample_s(self) -> float:
        """Tolerance within which positions are equal."""
        return 0.5 / self._rate_hz

    def _heard(self, at_s: float, silences: int) -> float:
        return at_s + self._silent_s[silences]
