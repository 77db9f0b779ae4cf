from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scores.statistics import bootstrap, wilson


def test_wilsons_interval_is_that_of_the_literature() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263."""
    interval = wilson(81, 263)
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilsons_interval_contains_the_share(counts: tuple[int, int]) -> None:
    successes, total = counts
    interval = wilson(successes, total)
    assert interval is not None
    assert 0 <= interval.low <= successes / total + 1e-12
    assert successes / total - 1e-12 <= interval.high <= 1


def test_no_events_have_no_interval() -> None:
    assert wilson(0, 0) is None


def test_one_call_has_no_interval() -> None:
    assert bootstrap(1, lambda chosen: 1.0) is None


def test_the_bootstrap_of_a_mean_is_near_its_standard_error() -> None:
    values = np.random.default_rng(3).normal(10, 2, 400)
    interval = bootstrap(len(values), lambda chosen: float(values[chosen].mean()))
    assert interval is not None
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * 2 / 20, rel=0.15)


def test_a_statistic_that_most_resamples_lack_has_no_interval() -> None:
    assert bootstrap(100, lambda chosen: 1.0 if 0 in chosen[:10] else None) is None
