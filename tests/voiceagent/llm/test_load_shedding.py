from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.llm.load_shedding import Ladder, Step

BUDGET_S = 0.1
LATE, AT_THE_EDGE, WELL = 0.2, 0.08, 0.02


def observed(ladder: Ladder, predicted_s: float, from_s: int, to_s: int) -> Step:
    """Once a second, from one second to the other."""
    for second in range(from_s, to_s + 1):
        ladder.observe(float(second), predicted_s, BUDGET_S)
    return ladder.step


def test_while_the_budget_would_be_missed_it_goes_up_a_step_a_second():
    ladder = Ladder()
    assert observed(ladder, LATE, 0, 2) == Step.NO_PREEMPTIVE
    assert observed(ladder, LATE, 3, 30) == Step.REFUSE_CALLS


def test_a_single_bad_prediction_changes_nothing():
    ladder = Ladder()
    ladder.observe(0.0, LATE, BUDGET_S)
    assert observed(ladder, WELL, 1, 5) == Step.ALL_WELL


def test_it_comes_down_more_slowly_than_it_went_up():
    ladder = Ladder()
    observed(ladder, LATE, 0, 5)
    assert observed(ladder, WELL, 6, 15) == Step.REFUSE_CALLS
    assert observed(ladder, WELL, 16, 16) == Step.FILLER_AT_ONCE
    assert observed(ladder, WELL, 17, 60) == Step.ALL_WELL


def test_at_the_edge_of_the_budget_it_stays():
    ladder = Ladder()
    observed(ladder, LATE, 0, 2)
    assert observed(ladder, AT_THE_EDGE, 3, 300) == Step.NO_PREEMPTIVE


@given(st.lists(st.tuples(st.floats(0, 3), st.sampled_from([LATE, AT_THE_EDGE, WELL])), max_size=80))
def test_it_moves_one_step_at_a_time_and_says_so(predictions):
    ladder, now_s = Ladder(), 0.0
    for after_s, predicted_s in predictions:
        now_s += after_s
        before = ladder.step
        moved = ladder.observe(now_s, predicted_s, BUDGET_S)
        assert abs(ladder.step - before) == int(moved)
