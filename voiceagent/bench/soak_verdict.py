"""Verdict of a soak test: growth of resources, and losses that no fault explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

SETTLED_S = 600.0
"""Time after which a server has settled; earlier growth is lazy loading."""
MAX_GROWTH = 0.05
"""Maximum growth of memory, descriptors and tasks after that, from the first samples to the last."""
SLACK = 10
"""Fluctuation of descriptors and tasks allowed in addition."""
JUDGED = 5
"""Number of samples at either end whose medians are compared."""
REACH_S = 15.0
"""Losses within this time after a fault are explained by it: calls recover or end within 10 s, and callers
give a turn up after 5 s without an answer.
"""


@dataclass(frozen=True, slots=True)
class Sample:
    """Resources of the server; at_s: since the soak began."""

    at_s: float
    rss_bytes: int
    descriptors: int
    tasks: int


@dataclass
class Losses:
    """Losses of callers, by whether a fault explains them. Times are seconds since the soak began."""

    explained: dict[str, int] = field(default_factory=dict)
    unexplained: dict[str, int] = field(default_factory=dict)
    _fault_until_s: float = float("-inf")

    def fault(self, until_s: float) -> None:
        """Record a fault that ends at `until_s`."""
        self._fault_until_s = max(self._fault_until_s, until_s)

    def note(self, what: str, count: int, now_s: float) -> None:
        """Record losses since the last time."""
        lost = self.explained if now_s <= self._fault_until_s + REACH_S else self.unexplained
        if count:
            lost[what] = lost.get(what, 0) + count


def complaints(samples: Sequence[Sample], losses: Losses) -> list[str]:
    """Return the reasons of a failure, [] for none."""
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
