"""Findings for a model that detects the end of turns, and for one that does not."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.end_of_turn.calibration import Heard, calibrate, platt, quality
from voiceagent.conversation.end_of_turn.llm_end import log_odds


def log_probability(odds: float) -> float:
    return -math.log1p(math.exp(-odds))


def heard(knows: float, others_know: float = 0.0, turns: int = 300, shift: float = -4.0) -> list[Heard]:
    """Each turn whole and cut once. knows: how many nats the model's word lies apart; shift: what it says in
    the middle; others_know: the same of the other witnesses.
    """
    random = Random(1)
    return [
        Heard(
            turn,
            over,
            log_probability(shift + (knows if over else -knows) / 2 + random.gauss(0, 1)),
            others_know * ((others_know if over else -others_know) / 2 + random.gauss(0, 1)),
        )
        for turn in range(turns)
        for over in (True, False)
    ]


def test_a_model_that_tells_is_scaled_to_what_it_is_right_in() -> None:
    # two Gaussians, 2 nats apart and 1 wide: the log odds are 2 (x + 4)
    found = calibrate(heard(knows=2.0))
    assert found.why_off == ""
    assert found.end.scale == pytest.approx(2.0, abs=0.4)
    assert found.end.offset == pytest.approx(8.0, abs=1.6)
    assert found.fitted.brier < found.raw.brier
    assert found.fitted.ece < 0.08 < found.raw.ece


def test_a_model_that_does_not_tell_is_left_off() -> None:
    assert "does not tell the end of turns (AUC 0.5" in calibrate(heard(knows=0.0)).why_off


def test_a_model_that_tells_the_contrary_is_left_off() -> None:
    assert calibrate(heard(knows=-2.0)).why_off


def test_beside_witnesses_that_know_nothing_it_weighs_all() -> None:
    found = calibrate(heard(knows=2.0))
    assert found.end.weight == 1.0
    assert found.together.auc > found.others.auc + 0.2


def test_beside_witnesses_that_know_something_else_both_are_better() -> None:
    found = calibrate(heard(knows=2.0, others_know=2.0))
    assert found.together.auc > max(found.others.auc, found.fitted.auc)
    assert found.why_off == ""


def test_what_the_other_witnesses_say_already_is_weighed_little() -> None:
    same = [
        Heard(one.turn, one.over, one.log_probability, 2 * log_odds(one.log_probability) + 8)
        for one in heard(knows=2.0)
    ]
    assert calibrate(same).end.weight <= 0.1


def test_too_few_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="2 ends and 2 pauses; allowed: at least 5"):
        calibrate(heard(knows=2.0, turns=2))


ODDS = st.lists(st.floats(-30, 10), min_size=4, max_size=30)


@given(ODDS, ODDS)
def test_any_model_has_a_fit_that_is_as_good_as_knowing_nothing(
    ends: list[float], pauses: list[float]
) -> None:
    odds = np.array([*ends, *pauses])
    over = np.array([True] * len(ends) + [False] * len(pauses))
    scale, offset = platt(odds, over)
    found = quality(scale * odds + offset, over)
    assert 0 <= found.auc <= 1
    assert found.brier <= 0.26
