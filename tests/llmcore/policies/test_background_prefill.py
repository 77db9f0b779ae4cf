"""Schedule of prompts that no caller waits for yet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.background_prefill import GATHER_S, REST, BackgroundPrefill

PIECE = 512  # tokens
STEP_S = 0.05
SECONDS = st.floats(0.001, 1.0)


def after_a_step(step_s: float = STEP_S) -> BackgroundPrefill:
    """Return a state in which a background step ended at second 0."""
    reading = BackgroundPrefill(PIECE)
    reading.begin()
    reading.end(0.0, step_s)
    return reading


def test_a_new_engine_reads_at_once() -> None:
    assert BackgroundPrefill(PIECE).may_start(0.0, writing=3, unread_tokens=1)


def test_without_answers_it_reads_all_the_time() -> None:
    assert after_a_step().may_start(0.0, writing=0, unread_tokens=1)


@given(st.integers(0, 200), SECONDS)
def test_a_background_step_is_never_chosen_while_one_is_computed(writing: int, now_s: float) -> None:
    reading = after_a_step()
    reading.begin()
    assert not reading.may_start(1000.0 + now_s, writing, PIECE)


@given(st.integers(1, 200), SECONDS)
def test_the_rest_grows_with_the_answers_and_with_the_step(writing: int, step_s: float) -> None:
    reading = after_a_step(step_s)
    rest_s = REST * writing * step_s
    assert not reading.may_start(rest_s * 0.99, writing, PIECE)
    assert reading.may_start(rest_s * 1.01, writing, PIECE)


def test_prompts_that_fill_no_step_are_gathered() -> None:
    reading = after_a_step()
    assert reading.may_start(GATHER_S / 2, writing=1, unread_tokens=PIECE)
    assert not reading.may_start(GATHER_S / 2, writing=1, unread_tokens=PIECE - 1)
    assert reading.may_start(GATHER_S, writing=1, unread_tokens=1)
