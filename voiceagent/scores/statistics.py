"""Confidence intervals: Wilson's for shares, the bootstrap over calls for everything else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

EPSILON = 1e-9
"""Tolerance within which floating-point times and rates are equal."""
_Z = 1.959964
"""Quantile of the normal distribution that leaves 2.5 % on each side."""
RESAMPLES = 2_000
_SEED = 1
Indices = NDArray[np.int64]


class Interval(NamedTuple):
    """Bounds of a 95 % confidence interval, in the unit of the figure."""

    low: float
    high: float


def wilson(successes: int, total: int) -> Interval | None:
    """Return the score interval of a share (Wilson, JASA 22, 1927); None without events."""
    if total == 0:
        return None
    share, z2 = successes / total, _Z * _Z
    centre = (share + z2 / (2 * total)) / (1 + z2 / total)
    half = _Z / (1 + z2 / total) * math.sqrt(share * (1 - share) / total + z2 / (4 * total * total))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def bootstrap(calls: int, statistic: Callable[[Indices], float | None]) -> Interval | None:
    """Return the percentile interval of a statistic over resampled calls (Efron, Ann. Stat. 7, 1979).

    Whole calls are resampled, since the turns of one call are not independent. None for fewer than two calls,
    or if the statistic has no value in half of the resamples. The same calls always give the same interval.

    Args:
        calls: number of calls.
        statistic: computes the statistic of the calls with these indices [calls]; None if it has no value.
    """
    if calls < 2:
        return None
    generator = np.random.default_rng(_SEED)
    computed = (statistic(generator.integers(calls, size=calls)) for _ in range(RESAMPLES))
    values = [value for value in computed if value is not None]
    if len(values) < RESAMPLES / 2:
        return None
    low, high = np.percentile(values, (2.5, 97.5))
    return Interval(float(low), float(high))
