"""Metrics of the recent past, for as long as a window is."""

from __future__ import annotations

from collections import deque

from voiceagent.telemetry.totals import Page
from voiceagent.triage.expressions import Reading, Window

WINDOW_S = 300.0
EVERY_S = 15.0
"""Interval at which metrics are recorded."""


def reading(page: Page) -> Reading:
    """Return the samples of a page by name and labels."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in page
        for sample in family.samples
    }


class History:
    """Readings of the last `WINDOW_S`, and the one before. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, Reading]] = deque()

    def keep(self, now_s: float, read: Reading) -> None:
        self._readings.append((now_s, read))
        while len(self._readings) > 1 and self._readings[1][0] <= now_s - WINDOW_S:
            self._readings.popleft()

    def window(self, now_s: float, read: Reading) -> tuple[float, Window]:
        """Return the length of the window that ends now, in seconds, and the window. It covers all time since
        the start (0 s) if no reading was recorded.
        """
        if not self._readings:
            return 0.0, Window({}, read)
        began_s, before = self._readings[0]
        return now_s - began_s, Window(before, read)
