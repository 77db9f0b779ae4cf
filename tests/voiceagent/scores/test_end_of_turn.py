from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scores.end_of_turn import (
    Judgement,
    OperatingPoints,
    Pause,
    cut_off_within,
    latency_within,
    operating_points,
    policy_sums,
)

SURE, UNSURE = 0.9, 0.1


def pause(seconds: float, ends_turn: bool, *judged: tuple[float, float]) -> Pause:
    return Pause(seconds, ends_turn, tuple(Judgement(*one) for one in judged))


def points(*pauses: Pause) -> OperatingPoints | None:
    return operating_points([policy_sums(pauses)])


def test_a_detector_that_is_right_answers_after_the_shortest_delay_and_cuts_nobody_off() -> None:
    found = points(pause(0.8, False, (0.1, UNSURE)), pause(3, True, (0.1, SURE)))
    assert cut_off_within(found, 0.3) == 0
    assert latency_within(found, 0.05) == pytest.approx(0.2)


def test_a_detector_without_an_opinion_has_the_latency_of_the_longest_pause() -> None:
    found = points(pause(1.2, False, (0.1, 0.5)), pause(3, True, (0.1, 0.5)))
    assert latency_within(found, 0.05) == pytest.approx(1.5)  # the next time-out
    assert cut_off_within(found, 0.3) == 1


def test_a_judgement_acts_no_earlier_than_it_is_made() -> None:
    found = points(pause(0.5, False, (0.1, UNSURE)), pause(3, True, (0.65, SURE)))
    assert latency_within(found, 0.05) == pytest.approx(0.65)
    assert cut_off_within(found, 0.6) is None


def test_a_pause_that_ends_as_the_policy_acts_is_not_cut_off() -> None:
    found = points(pause(0.2, False, (0.1, SURE)), pause(3, True, (0.1, SURE)))
    assert cut_off_within(found, 0.2) == 0


@pytest.mark.parametrize(("seconds", "counts"), [(0.19, False), (0.2, True), (5.0, True), (5.1, False)])
def test_pauses_within_turns_count_from_200_ms_to_5_s(seconds: float, counts: bool) -> None:
    assert (points(pause(seconds, False, (0.1, SURE)), pause(3, True, (0.1, SURE))) is not None) == counts


def test_calls_without_judgements_have_no_operating_points() -> None:
    assert points(pause(0.8, False), pause(3, True)) is None


PAUSES = st.lists(
    st.builds(
        pause,
        st.floats(0.2, 4.9),
        st.booleans(),
        st.tuples(st.floats(0.05, 1.0), st.floats(0, 1)),
    ),
    max_size=8,
)


@given(PAUSES, PAUSES)
def test_a_larger_budget_is_never_worse_and_calls_add_up(some: list[Pause], others: list[Pause]) -> None:
    found = operating_points([policy_sums(some), policy_sums(others)])
    together = points(*some, *others)
    for budget in (0.3, 0.6, 1.0):
        assert cut_off_within(found, budget) == pytest.approx(cut_off_within(together, budget))
    tight, wide = latency_within(found, 0.05), latency_within(found, 0.1)
    assert tight is None or (wide is not None and wide <= tight)
