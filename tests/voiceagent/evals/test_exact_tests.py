"""Exact tests, against published and enumerated values."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.evals.exact_tests import (
    MAX_EXACT,
    fisher,
    holm,
    kappa,
    least_fisher,
    possible,
    rank_sum,
    sign_test,
    stratified,
)

COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12))
SMALL = st.lists(st.integers(0, 4).map(float), min_size=1, max_size=5)


def test_fisher_has_the_p_value_of_his_tea_tasting() -> None:
    assert fisher(3, 4, 1, 4) == pytest.approx(0.4857, abs=1e-4)  # Fisher, The Design of Experiments (1935)


def test_fisher_finds_ten_of_ten_against_none() -> None:
    assert fisher(10, 10, 0, 10) == pytest.approx(2 / 184_756)  # C(20, 10) tables, two as extreme


def test_fisher_takes_a_thousand_runs() -> None:
    assert fisher(500, 1_000, 500, 1_000) == 1.0
    assert fisher(600, 1_000, 400, 1_000) < 1e-15


@given(COUNTS, COUNTS)
def test_fisher_does_not_depend_on_the_order(one: tuple[int, int], other: tuple[int, int]) -> None:
    (hits, misses), (other_hits, other_misses) = one, other
    p = fisher(hits, hits + misses, other_hits, other_hits + other_misses)
    assert 0 < p <= 1
    assert p == pytest.approx(fisher(other_hits, other_hits + other_misses, hits, hits + misses))
    assert p == pytest.approx(fisher(misses, hits + misses, other_misses, other_hits + other_misses))


def test_equal_shares_differ_by_chance() -> None:
    assert fisher(7, 10, 7, 10) == 1.0


@given(COUNTS, COUNTS)
def test_stratified_with_one_stratum_is_fisher(one: tuple[int, int], other: tuple[int, int]) -> None:
    table = (one[0], sum(one), other[0], sum(other))
    if sum(one) and sum(other):
        assert stratified([table]) == pytest.approx(fisher(*table))


def test_stratified_adds_the_strata_up() -> None:
    """Three strata of one run on each side: 1/8 for each extreme, by hand."""
    assert stratified([(1, 1, 0, 1)] * 3) == pytest.approx(2 / 8)
    assert stratified([(1, 1, 0, 1), (0, 1, 1, 1)]) == pytest.approx(1.0)
    assert stratified([(10, 10, 10, 10)] * 30) == 1.0


def test_stratified_is_not_misled_by_shares_that_differ_between_strata() -> None:
    """Simpson's paradox: pooled, 16 of 20 against 4 of 20, though both strata have equal shares."""
    assert stratified([(16, 16, 4, 4), (0, 4, 0, 16)]) == 1.0
    assert fisher(16, 20, 4, 20) < 0.001


@given(COUNTS, COUNTS)
def test_no_table_with_these_totals_has_a_smaller_p(one: tuple[int, int], other: tuple[int, int]) -> None:
    table = (one[0], sum(one), other[0], sum(other))
    assert least_fisher(*table) <= fisher(*table)


def test_tests_that_cannot_be_significant_take_no_part() -> None:
    assert possible([1.0, 0.001, 1.0], 0.05) == [False, True, False]
    assert possible([0.02, 0.02, 0.001], 0.05) == [False, False, True]  # 0.02 is above a third of 0.05
    assert possible([0.02, 1.0, 0.001], 0.05) == [True, False, True]  # and below a half
    assert possible([], 0.05) == []


@pytest.mark.parametrize(("larger", "smaller", "p"), [(0, 0, 1.0), (5, 0, 1 / 16), (1, 9, 11 / 512)])
def test_sign_test_is_the_binomial(larger: int, smaller: int, p: float) -> None:
    assert sign_test(larger, smaller) == pytest.approx(p)
    assert sign_test(smaller, larger) == pytest.approx(p)


@given(SMALL, SMALL)
def test_rank_sum_is_the_share_of_divisions_as_far_from_the_mean(
    sample: list[float], other: list[float]
) -> None:
    values = [*sample, *other]
    ranks = [sum(one < value for one in values) + (values.count(value) + 1) / 2 for value in values]
    middle = len(sample) * (len(values) + 1) / 2
    observed = abs(sum(ranks[: len(sample)]) - middle)
    divisions = list(combinations(ranks, len(sample)))
    far = sum(abs(sum(division) - middle) >= observed - 1e-9 for division in divisions)
    assert rank_sum(sample, other) == pytest.approx(far / len(divisions))


def test_rank_sum_finds_ten_longer_waits() -> None:
    waits = [0.5 + 0.01 * number for number in range(10)]
    assert rank_sum(waits, [wait + 0.3 for wait in waits]) == pytest.approx(2 / 184_756)


def test_rank_sum_of_many_values_is_near_the_exact_one() -> None:
    half = MAX_EXACT // 2
    sample = [float(number % 17) for number in range(half)]
    other = [value + 2 for value in sample]
    exact, near = rank_sum(sample, other), rank_sum([*sample, 8.0], [*other, 10.0])
    assert near == pytest.approx(exact, rel=0.15)
    assert rank_sum([1.0] * 1_000, [1.0] * 1_000) == 1.0
    assert rank_sum([1.0] * 1_000, [2.0] * 1_000) < 1e-15


def test_holm_corrects_the_smallest_for_all_tests() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []


def test_kappa_is_zero_for_agreement_by_chance_alone() -> None:
    pairs = [("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")]
    assert kappa(pairs) == pytest.approx(0.0)
    assert kappa([("yes", "yes"), ("no", "no")]) == 1.0
    assert kappa([("yes", "yes")]) is None
