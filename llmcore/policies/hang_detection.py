"""Hang detection: distinguishes a slow engine from a stopped one.

An engine that does not answer may be under heavy load, or may compile kernels at its first request. It then
uses a processor, or waits for one. A stopped or deadlocked engine does neither.
"""

from __future__ import annotations

from dataclasses import dataclass

_BUSY_SHARE = 0.05
"""Share of one core from which an engine counts as working. An idle vLLM uses 1.3 % (measured with 0.32 on a
CPU, with four requests a second to its loop); one that gets a tenth of a loaded core uses 10 %.
"""
_INTERVALS = 20
"""Observations until an idle engine counts as hung: one missed observation changes little."""


@dataclass(frozen=True, slots=True)
class HangLimits:
    """Longest silence of an engine.

    idle_s: while it does nothing. busy_s: while it works or handles its first request; bounded, so
    that an engine that spins forever is killed too.
    """

    idle_s: float = 20.0
    busy_s: float = 180.0


class HangDetector:
    """State of one unanswered request to an engine for a sign of life.

    in_first_request: the engine has not answered any request since its start.
    """

    def __init__(self, limits: HangLimits, in_first_request: bool) -> None:
        self._limits = limits
        self._in_first_request = in_first_request
        self._busy_s: float | None = None
        self._idle_s = 0.0
        self.silent_s = 0.0
        """Time without an answer so far."""

    @property
    def interval_s(self) -> float:
        """Seconds between two calls of `observe`."""
        return self._limits.idle_s / _INTERVALS

    def observe(self, busy_s: float) -> bool:
        """Count an interval of silence. Return True if the engine hangs.

        busy_s: time that the engine's processes have computed or waited for a processor since they started.
        """
        interval_s = self.interval_s
        self.silent_s += interval_s
        before_s, self._busy_s = self._busy_s, busy_s
        worked = before_s is not None and busy_s - before_s >= _BUSY_SHARE * interval_s
        self._idle_s = 0.0 if worked else self._idle_s + interval_s
        idle = self._idle_s >= self._limits.idle_s and not self._in_first_request
        return idle or self.silent_s >= self._limits.busy_s
