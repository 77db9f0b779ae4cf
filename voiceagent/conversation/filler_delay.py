"""Delay of the filler, the phrase that bridges the wait for a late answer."""

from __future__ import annotations

AT_ONCE_S = 0.2
"""Shortest delay of the filler: answers that are ready by then need none."""


class FillerDelay:
    """Time from the start of a response to its filler. usual_s: the delay if no earlier one is asked for."""

    def __init__(self, usual_s: float) -> None:
        self._usual_s = usual_s
        self._voiced_s: float | None = None

    def on_speech_stopped(self, at_s: float) -> None:
        """Record the end of the voice of a turn, in seconds of received audio."""
        self._voiced_s = at_s

    def pop_s(self, by_s: float | None, received_s: float) -> float:
        """Return the delay of a response that starts now. The first after a turn has its filler `by_s` after
        the caller's last voiced sample at the latest, or `AT_ONCE_S` after its start.

        by_s: see `CallSettings.filler_by_s`. received_s: length of the audio received so far.
        """
        voiced_s, self._voiced_s = self._voiced_s, None
        if by_s is None or voiced_s is None:
            return self._usual_s
        return min(self._usual_s, max(AT_ONCE_S, by_s - (received_s - voiced_s)))
