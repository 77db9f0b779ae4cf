"""Weight of the LLM's probability of an end."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.end_of_turn.evidence import TurnEvidence
from voiceagent.conversation.end_of_turn.llm_end import MAX_NATS, LlmEnd, log_odds
from voiceagent.conversation.end_of_turn.probability import judge

LOG_PROBABILITIES = st.floats(-200.0, 0.0)
ENDS = st.builds(LlmEnd, st.floats(0.05, 5.0), st.floats(-10.0, 10.0), st.floats(0.05, 1.0))


@given(st.floats(1e-6, 1 - 1e-6))
def test_log_odds_are_those_of_the_probability(probability: float) -> None:
    assert log_odds(math.log(probability)) == pytest.approx(
        math.log(probability / (1 - probability)), abs=1e-6
    )


@given(ENDS, LOG_PROBABILITIES, LOG_PROBABILITIES)
def test_the_surer_the_model_the_more_it_adds(end: LlmEnd, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert end.nats(less) <= end.nats(more)


@given(ENDS, LOG_PROBABILITIES)
def test_it_never_decides_alone(end: LlmEnd, log_probability: float) -> None:
    assert abs(end.nats(log_probability)) <= end.weight * MAX_NATS


def test_it_speaks_of_languages_of_which_nothing_else_is_known() -> None:
    whole, cut = (TurnEvidence("Onko siell\u00e4 uima-allas", llm=nats) for nats in (2.0, -2.0))
    assert judge(whole, None).silence_s < judge(cut, None).silence_s
