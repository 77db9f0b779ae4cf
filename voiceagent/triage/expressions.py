"""Expressions over metrics in a time window, evaluated here or written as PromQL."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from voiceagent.telemetry.totals import Page

Labels = frozenset[tuple[str, str]]
Reading = Mapping[tuple[str, Labels], float]
"""All samples of a metrics page, by name and labels."""


@dataclass(frozen=True, slots=True)
class Window:
    """Metrics at the beginning and at the end of a period."""

    before: Reading
    after: Reading

    def samples(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[Labels, float]]:
        """Return the samples with this name and at least these labels, at the end of the window."""
        wanted = labels.items()
        return (
            (found, value) for (each, found), value in self.after.items() if each == name and wanted <= found
        )

    def increase(self, name: str, labels: Mapping[str, str]) -> float:
        """Return the increase of a counter, summed over labels. A counter that was reset counts from 0."""
        grown = 0.0
        for found, value in self.samples(name, labels):
            before = self.before.get((name, found), 0.0)
            grown += value - before if value >= before else value
        return grown


class Expression(Protocol):
    """A figure computed from metrics. unit: "s", "%" or "".

    The value is None if too little was measured.
    """

    @property
    def unit(self) -> str:
        """Unit of the figure."""

    def value(self, window: Window) -> float | None:
        """Return the figure for a window, or None if too little was measured."""

    def promql(self, window: str) -> str:
        """Return the PromQL of the same figure. window: such as "5m", or "1h offset 1d"."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """The largest current value of a gauge, 0 to 1."""

    name: str
    unit: str = "%"

    def value(self, window: Window) -> float | None:
        found = [value for _, value in window.samples(self.name, {}) if not math.isnan(value)]
        return max(found, default=None)

    def promql(self, window: str) -> str:
        return f"max({self.name})"


@dataclass(frozen=True, slots=True)
class Share:
    """Increase of one counter divided by that of another, at least `min_whole`. labels: of both."""

    part: str
    whole: str
    min_whole: float
    labels: Mapping[str, str] = field(default_factory=dict)
    unit: str = "%"

    def value(self, window: Window) -> float | None:
        whole = window.increase(self.whole, self.labels)
        return None if whole < self.min_whole else window.increase(self.part, self.labels) / whole

    def promql(self, window: str) -> str:
        labels = _selector(self.labels)
        whole, part = (f"sum(increase({name}{labels}{_range(window)}))" for name in (self.whole, self.part))
        return f"{part} / ({whole} >= {self.min_whole:g})"


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile of a histogram of seconds, from at least `min_count` observations."""

    histogram: str
    quantile: float
    min_count: int
    unit: str = "s"

    def value(self, window: Window) -> float | None:
        """Return the quantile, interpolated within its bucket as Prometheus does."""
        buckets: defaultdict[float, float] = defaultdict(float)
        name = f"{self.histogram}_bucket"
        for labels, value in window.samples(name, {}):
            bound = float(dict(labels)["le"].replace("+Inf", "inf"))
            before = window.before.get((name, labels), 0.0)
            buckets[bound] += value - before if value >= before else value
        total = buckets.get(math.inf, 0.0)
        if total < max(1, self.min_count):
            return None
        rank, lower, below = self.quantile * total, 0.0, 0.0
        for bound in sorted(buckets):
            if buckets[bound] >= rank and buckets[bound] > below:
                if math.isinf(bound):
                    return lower
                return lower + (bound - lower) * (rank - below) / (buckets[bound] - below)
            lower, below = bound, buckets[bound]
        return lower

    def promql(self, window: str) -> str:
        counted = f"sum(increase({self.histogram}_count{_range(window)})) >= {self.min_count}"
        rates = f"sum by (le) (rate({self.histogram}_bucket{_range(window)}))"
        return f"histogram_quantile({self.quantile:g}, {rates}) and on() ({counted})"


@dataclass(frozen=True, slots=True)
class Spread:
    """A high quantile of a histogram as a multiple of the median, from at least `min_count` observations."""

    histogram: str
    quantile: float
    min_count: int
    unit: str = ""

    def value(self, window: Window) -> float | None:
        high = self._high.value(window)
        median = self._median.value(window)
        return None if high is None or not median else high / median

    def promql(self, window: str) -> str:
        return f"({self._high.promql(window)}) / on() ({self._median.promql(window)})"

    @property
    def _high(self) -> Quantile:
        return Quantile(self.histogram, self.quantile, self.min_count)

    @property
    def _median(self) -> Quantile:
        return Quantile(self.histogram, 0.5, self.min_count)


def _range(window: str) -> str:
    """Return the range of a selector: "[5m]", or "[1h] offset 1d"."""
    length, _, offset = window.partition(" ")
    return f"[{length}] {offset}".rstrip()


def _selector(labels: Mapping[str, str]) -> str:
    inner = ", ".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{{{inner}}}" if inner else ""


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
