"""Comparison of two results: what changed beyond chance.

Runs of one scenario are draws from what callers differ in, so their shares and waits are compared as two
samples. All scenarios together are compared by the sign of each one's difference, as the runs of one scenario
are not independent. All p-values are corrected for their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from voiceagent.evals.exact_tests import ALPHA, fisher, holm, rank_sum, sign_test
from voiceagent.evals.results import Results, Run

ALL = "all scenarios"


@dataclass(frozen=True, slots=True)
class Change:
    """A difference. measure: the share of passed runs, or the mean wait in seconds; None without waits.

    p: of the test alone. corrected_p: for the number of tests.
    """

    scenario: str
    measure: Literal["passed", "wait"]
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
    found = [*_of_all(single), *single]
    corrected = holm([change.p for change in found])
    return [
        Change(one.scenario, one.measure, one.before, one.after, one.p, p)
        for one, p in zip(found, corrected, strict=True)
    ]


def _of_scenario(name: str, before: Sequence[Run], after: Sequence[Run]) -> Iterator[Change]:
    passed, now_passed = (sum(run.passed for run in runs) for runs in (before, after))
    p = fisher(passed, len(before), now_passed, len(after))
    yield Change(name, "passed", passed / len(before), now_passed / len(after), p)
    waits, now_waits = (
        [run.mean_wait_s for run in runs if run.mean_wait_s is not None] for runs in (before, after)
    )
    if waits and now_waits:
        yield Change(name, "wait", fmean(waits), fmean(now_waits), rank_sum(waits, now_waits))


def _of_all(single: Sequence[Change]) -> Iterator[Change]:
    measures: tuple[Literal["passed", "wait"], ...] = ("passed", "wait")
    for measure in measures:
        pairs = [
            (one.before, one.after)
            for one in single
            if one.measure == measure and one.before is not None and one.after is not None
        ]
        if pairs:
            more = sum(after > before for before, after in pairs)
            less = sum(after < before for before, after in pairs)
            means = fmean(before for before, _ in pairs), fmean(after for _, after in pairs)
            yield Change(ALL, measure, *means, sign_test(more, less))
