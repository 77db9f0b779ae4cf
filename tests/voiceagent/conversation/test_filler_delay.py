"""Delay of the filler, counted from the caller's last voiced sample where the call asks for that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.filler_delay import AT_ONCE_S, FillerDelay

SECONDS = st.floats(0.0, 60.0)


def delay(by_s: float | None, waited_s: float, usual_s: float = 1.5) -> float:
    """Return the delay of a response that starts `waited_s` after the caller's last voiced sample."""
    filler = FillerDelay(usual_s)
    filler.on_speech_stopped(10.0)
    return filler.pop_s(by_s, 10.0 + waited_s)


@given(SECONDS)
def test_usual_delay_counts_from_the_start_of_the_response(waited_s: float) -> None:
    assert delay(None, waited_s) == 1.5


def test_first_response_after_a_turn_has_the_rest_of_the_silence() -> None:
    assert delay(1.25, 0.5) == 0.75


@given(SECONDS, SECONDS, SECONDS)
def test_delay_is_never_over_the_usual_one_nor_too_short_for_an_answer_that_is_about_to_come(
    by_s: float, waited_s: float, usual_s: float
) -> None:
    assert min(usual_s, AT_ONCE_S) <= delay(by_s, waited_s, usual_s) <= usual_s


def test_response_that_follows_no_turn_has_the_usual_delay() -> None:
    filler = FillerDelay(1.5)
    filler.on_speech_stopped(10.0)
    filler.pop_s(1.25, 10.5)
    assert filler.pop_s(1.25, 14.0) == 1.5
