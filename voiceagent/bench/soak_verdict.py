"""What a soak is judged by: figures that grow, and turns that are lost where no fault explains it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

SETTLED_S = 600.0
"""When a server has settled: what grows before that is what it loads late."""
MAX_GROWTH = 0.05
"""How much memory, descriptors and tasks may grow after they have settled, from the first samples to the
last."""
SLACK = 10
"""Descriptors and tasks that may come and go besides."""
JUDGED = 5
"""Samples at either end whose median is compared."""
REACH_S = 15.0
"""What is lost within this time after a fault is explained by it: calls are answered again or ended within 10
s, and callers give a turn up after 5 s without an answer."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The server at one moment; at_s: since the soak began."""

    at_s: float
    rss_bytes: int
    descriptors: int
    tasks: int


@dataclass
class Losses:
    """What callers lost, by whether a fault explains it. Times are seconds since the soak began."""

    explained: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=dict)
    _fault_until_s: float = float("-inf")

    def fault(self, until_s: float) -> None:
        """A fault that is over at `until_s`."""
        self._fault_until_s = max(self._fault_until_s, until_s)

    def note(self, what: str, count: int, now_s: float) -> None:
        """Take in that so many of a kind were lost since the last time."""
        lost = self.explained if now_s <= self._fault_until_s + REACH_S else self.unexplained
        if count:
            lost[what] = lost.get(what, 0) + count


def complaints(samples: Sequence[Sample], losses: Losses) -> list[str]:
    """Why the soak failed; none where it did not."""
    found = [f"{count} {what} without a fault that explains it" for what, count in losses.unexplained.items()]
    settled = [sample for sample in samples if sample.at_s >= SETTLED_S]
    if len(settled) < 2 * JUDGED:
        return found
    for name, slack in (("rss_bytes", 0), ("descriptors", SLACK), ("tasks", SLACK)):
        first = median(getattr(sample, name) for sample in settled[:JUDGED])
        last = median(getattr(sample, name) for sample in settled[-JUDGED:])
        if last > first * (1 + MAX_GROWTH) + slack:
            found.append(f"{name} grew from {first:.0f} to {last:.0f}, more than {MAX_GROWTH:.0%}")
    return found
