"""Comparison of two results: what changed beyond chance.

Runs of one scenario differ by the random choices of their callers: their shares and waits are compared as two
samples. All scenarios together are compared by a test of the shares within each scenario, and by the sign of
each one's difference in waits. Half of the level is for these two tests, half for those of single scenarios
(Bonferroni), so that the number of scenarios does not hide a change in several of them. Tests of single
scenarios that cannot be significant with so few failures are not counted (Tarone), and the rest are corrected
for their number (Holm).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from voiceagent.evals.exact_tests import (
    ALPHA,
    fisher,
    holm,
    least_fisher,
    possible,
    rank_sum,
    sign_test,
    stratified,
)
from voiceagent.evals.results import Results, Run

ALL = "all scenarios"
Measure = Literal["passed", "wait"]
Table = tuple[int, int, int, int]
"""Passed runs and runs before, passed runs and runs after."""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference. measure: the share of passed runs, or the mean wait in seconds; None without waits.

    p: of the test alone. corrected_p: for the number of tests.
    """

    scenario: str
    measure: Measure
    before: float | None
    after: float | None
    p: float
    corrected_p: float = 1.0

    @property
    def is_beyond_chance(self) -> bool:
        """True at the level of significance."""
        return self.corrected_p < ALPHA

    @property
    def is_worse(self) -> bool:
        """True if fewer runs pass, or callers wait longer."""
        if self.before is None or self.after is None:
            return False
        return self.after < self.before if self.measure == "passed" else self.after > self.before


def compare(before: Results, after: Results) -> list[Change]:
    """Return all differences of the scenarios in both, the whole first, each with its p-value."""
    names = [name for name in before.scenarios if name in after.scenarios]
    pairs = [(name, before.scenarios[name], after.scenarios[name]) for name in names]
    single = [change for pair in pairs for change in _of_scenario(*pair)]
    tables = [(*_passed(runs), *_passed(others)) for _, runs, others in pairs]
    whole = _of_all(single, tables)
    return [*_corrected(whole, [True] * len(whole)), *_corrected(single, _counted(single, tables))]


def _corrected(changes: Sequence[Change], counted: Sequence[bool]) -> list[Change]:
    """Return changes corrected for half of the level and for the number of those that count."""
    ps = iter(holm([one.p for one, counts in zip(changes, counted, strict=True) if counts]))
    return [
        replace(one, corrected_p=min(1.0, 2 * next(ps)) if counts else 1.0)
        for one, counts in zip(changes, counted, strict=True)
    ]


def _counted(single: Sequence[Change], tables: Sequence[Table]) -> list[bool]:
    """Return for each change of a scenario if its test could be significant. Tests of waits always could."""
    least = iter([least_fisher(*table) for table in tables])
    return possible([next(least) if one.measure == "passed" else 0.0 for one in single], ALPHA / 2)


def _passed(runs: Sequence[Run]) -> tuple[int, int]:
    return sum(run.passed for run in runs), len(runs)


def _of_scenario(name: str, before: Sequence[Run], after: Sequence[Run]) -> Iterator[Change]:
    (passed, total), (now_passed, now_total) = _passed(before), _passed(after)
    p = fisher(passed, total, now_passed, now_total)
    yield Change(name, "passed", passed / total, now_passed / now_total, p)
    waits, now_waits = (
        [run.mean_wait_s for run in runs if run.mean_wait_s is not None] for runs in (before, after)
    )
    if waits and now_waits:
        yield Change(name, "wait", fmean(waits), fmean(now_waits), rank_sum(waits, now_waits))


def _of_all(single: Sequence[Change], tables: Sequence[Table]) -> list[Change]:
    found = []
    shares, waits = _means(single, "passed"), _means(single, "wait")
    if shares:
        found.append(_change_of_all("passed", shares, stratified(tables)))
    if waits:
        more = sum(after > before for before, after in waits)
        less = sum(after < before for before, after in waits)
        found.append(_change_of_all("wait", waits, sign_test(more, less)))
    return found


def _means(single: Sequence[Change], measure: Measure) -> list[tuple[float, float]]:
    return [
        (one.before, one.after)
        for one in single
        if one.measure == measure and one.before is not None and one.after is not None
    ]


def _change_of_all(measure: Measure, pairs: Sequence[tuple[float, float]], p: float) -> Change:
    return Change(ALL, measure, fmean(before for before, _ in pairs), fmean(after for _, after in pairs), p)
