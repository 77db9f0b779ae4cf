"""What the metrics were, for as long as a window is. Pure."""

from __future__ import annotations

from collections import deque

from voiceagent.telemetry.totals import Page
from voiceagent.triage.expressions import Reading, Window

WINDOW_S = 300.0
EVERY_S = 15.0
"""How often the metrics are kept."""


def reading(page: Page) -> Reading:
    """The samples of a page."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in page
        for sample in family.samples
    }


class History:
    """Readings of the last `WINDOW_S`, and one from before. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._readings: deque[tuple[float, Reading]] = deque()

    def keep(self, now_s: float, read: Reading) -> None:
        """Note what the metrics are."""
        self._readings.append((now_s, read))
        while len(self._readings) > 1 and self._readings[1][0] <= now_s - WINDOW_S:
            self._readings.popleft()

    def window(self, now_s: float, read: Reading) -> tuple[float, Window]:
        """How many seconds the window to now has, and what it saw; from the start, where nothing was kept."""
        if not self._readings:
            return 0.0, Window({}, read)
        began_s, before = self._readings[0]
        return now_s - began_s, Window(before, read)
