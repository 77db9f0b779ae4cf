from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.load_shedding import RECENT_S, LoadShedder, SheddingLevel, TokenTimes

LATE, AT_THE_EDGE, WELL = 2.0, 0.8, 0.2  # used shares of a budget


def observed(shedder: LoadShedder, pressure: float, from_s: int, to_s: int) -> SheddingLevel:
    """Once a second, from one second to the other."""
    for second in range(from_s, to_s + 1):
        shedder.observe(float(second), pressure)
    return shedder.level


def test_a_missed_budget_goes_up_a_level_a_second():
    shedder = LoadShedder()
    assert observed(shedder, LATE, 0, 2) == SheddingLevel.NO_PREEMPTIVE
    assert observed(shedder, LATE, 3, 30) == SheddingLevel.REFUSE_CALLS


def test_a_single_bad_prediction_changes_nothing():
    shedder = LoadShedder()
    shedder.observe(0.0, LATE)
    assert observed(shedder, WELL, 1, 5) == SheddingLevel.NONE


def test_it_comes_down_more_slowly_than_it_went_up():
    shedder = LoadShedder()
    observed(shedder, LATE, 0, 5)
    assert observed(shedder, WELL, 6, 15) == SheddingLevel.REFUSE_CALLS
    assert observed(shedder, WELL, 16, 16) == SheddingLevel.FILLER_AT_ONCE
    assert observed(shedder, WELL, 17, 60) == SheddingLevel.NONE


def test_at_the_edge_of_the_budget_it_stays():
    shedder = LoadShedder()
    observed(shedder, LATE, 0, 2)
    assert observed(shedder, AT_THE_EDGE, 3, 300) == SheddingLevel.NO_PREEMPTIVE


@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from([LATE, AT_THE_EDGE, WELL])), max_size=80))
def test_it_moves_one_step_at_a_time_and_says_so(pressures):
    shedder, now_s = LoadShedder(), 0.0
    for after_s, pressure in pressures:
        now_s += after_s
        before = shedder.level
        moved = shedder.observe(now_s, pressure)
        assert abs(shedder.level - before) == int(moved)


def test_the_time_between_tokens_is_the_mean_of_recent_responses():
    times = TokenTimes()
    for second, token_s in ((0.0, 0.5), (RECENT_S + 1, 0.02), (RECENT_S + 2, 0.04)):
        times.observe(second, token_s)
    assert times.mean_s(RECENT_S + 2) == 0.03
    assert times.fastest_s == 0.02


def test_without_responses_there_is_no_time_between_tokens():
    times = TokenTimes()
    times.observe(0.0, 0.5)
    assert times.mean_s(RECENT_S + 1) == 0.0
