"""Exact tests of small samples, and agreement of two judges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_EXACT = 120
"""Largest number of values whose ranks are enumerated: time and memory grow with its third power."""
ALPHA = 0.05
"""Level of significance, after correction."""
_ROUNDING = 1e-9
"""Relative difference below which two probabilities are equal."""


def fisher(successes: int, total: int, other_successes: int, other_total: int) -> float:
    """Return the two-sided p-value that two shares are equal.

    Fisher, J. R. Stat. Soc. 98 (1935): the sum of all tables with the same margins that are no likelier.
    """
    both, drawn = total + other_total, successes + other_successes
    if not total or not other_total:
        return 1.0
    tables = range(max(0, drawn - other_total), min(total, drawn) + 1)
    ways = {hit: math.comb(total, hit) * math.comb(other_total, drawn - hit) for hit in tables}
    # integers: as floats, the ways of some hundred runs would overflow
    return sum(way for way in ways.values() if way <= ways[successes]) / math.comb(both, drawn)


def least_fisher(successes: int, total: int, other_successes: int, other_total: int) -> float:
    """Return the smallest p-value that `fisher` can have with these totals and this number of successes."""
    drawn = successes + other_successes
    tables = range(max(0, drawn - other_total), min(total, drawn) + 1)
    if not total or not other_total:
        return 1.0
    return min(fisher(hit, total, drawn - hit, other_total) for hit in (tables[0], tables[-1]))


def stratified(tables: Sequence[tuple[int, int, int, int]]) -> float:
    """Return the two-sided p-value that two shares are equal in each stratum, all strata together.

    tables: successes, total, other successes, other total, as `fisher` takes them. The exact conditional
    test of Cochran-Mantel-Haenszel's sum (Mantel, Haenszel, J. Natl. Cancer Inst. 22, 1959; Gart, Biometrika
    57, 1970): the sum of the first successes is a sum of independent hypergeometric numbers. For one stratum
    it is `fisher`.
    """
    ways: NDArray[np.floating[Any]] = np.ones(1)
    observed = 0
    for successes, total, other_successes, other_total in tables:
        both, drawn = total + other_total, successes + other_successes
        least, most = max(0, drawn - other_total), min(total, drawn)
        shares = [
            math.comb(total, hit) * math.comb(other_total, drawn - hit) / math.comb(both, drawn)
            for hit in range(least, most + 1)
        ]
        ways = np.convolve(ways, shares)
        observed += successes - least
    return float(ways[ways <= ways[observed] * (1 + _ROUNDING)].sum() / ways.sum())


def sign_test(larger: int, smaller: int) -> float:
    """Return the two-sided p-value of so many pairs of each sign, equal pairs left out.

    Arbuthnot (1710); for pairs of yes and no it is McNemar's exact test (Psychometrika 12, 1947).
    """
    pairs = larger + smaller
    tail = sum(math.comb(pairs, count) for count in range(min(larger, smaller) + 1))
    return min(1.0, float(2 * tail / 2**pairs))


def rank_sum(sample: Sequence[float], other: Sequence[float]) -> float:
    """Return the two-sided p-value that two samples are from one distribution, ties as mean ranks.

    Wilcoxon, Biometrics Bulletin 1 (1945): exact, by all divisions of the ranks into two samples. More than
    `MAX_EXACT` values: by the normal distribution, corrected for ties and continuity (Lehmann,
    Nonparametrics, 1975).
    """
    if not sample or not other:
        return 1.0
    values = sorted([(value, 0) for value in sample] + [(value, 1) for value in other])
    ranks, first = [], 0  # twice the mean rank, an integer
    observed = 0
    for _, group in groupby(values, key=lambda one: one[0]):
        tied = list(group)
        rank = 2 * first + len(tied) + 1
        ranks += [rank] * len(tied)
        observed += rank * sum(1 for _, side in tied if not side)
        first += len(tied)
    expected = len(sample) * (len(values) + 1)
    if len(values) > MAX_EXACT:
        return _normal_p(abs(observed - expected), ranks, len(sample))
    ways = np.zeros((len(sample) + 1, sum(ranks) + 1))  # by number of ranks drawn and their sum
    ways[0, 0] = 1.0
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank].copy()
    shares = ways[-1] / ways[-1].sum()
    sums = np.arange(len(shares))
    return min(1.0, float(shares[np.abs(sums - expected) >= abs(observed - expected)].sum()))


def _normal_p(distance: float, ranks: Sequence[int], drawn: int) -> float:
    """Return the p-value of a sum of `drawn` of the ranks. distance, ranks: twice the real ones."""
    total = len(ranks)
    variance = drawn * (total - drawn) * float(np.var(ranks)) / (total - 1)
    if not variance:
        return 1.0
    return min(1.0, math.erfc(max(0.0, distance - 1) / math.sqrt(2 * variance)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for their number (Holm, Scand. J. Stat. 6, 1979), in the same order."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected, largest = [1.0] * len(p_values), 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - place)))
        corrected[index] = largest
    return corrected


def possible(least: Sequence[float], level: float) -> list[bool]:
    """Return for each test if it takes part in the correction, by the smallest p-value that it can have.

    Tarone, Biometrics 46 (1990): for the smallest number k for which at most k tests can be below level / k,
    only these take part. The smallest p-values depend on the totals alone, so the others cost nothing.
    """
    for count in range(1, len(least) + 1):
        chosen = [p < level / count for p in least]
        if sum(chosen) <= count:
            return chosen
    return []


def kappa(pairs: Sequence[tuple[str, str]]) -> float | None:
    """Return the agreement beyond chance of two judges (Cohen, Educ. Psychol. Meas. 20, 1960).

    None without verdicts, or if chance alone explains all: both always gave the same answer.
    """
    if not pairs:
        return None
    answers = {answer for pair in pairs for answer in pair}
    agreed = sum(one == other for one, other in pairs) / len(pairs)
    chance = (
        sum(
            sum(one == answer for one, _ in pairs) * sum(other == answer for _, other in pairs)
            for answer in answers
        )
        / len(pairs) ** 2
    )
    return None if chance == 1 else (agreed - chance) / (1 - chance)
