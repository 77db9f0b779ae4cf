from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.batch_limits import FAST_STEPS, WINDOW, BatchBounds, BatchLimits

BOUNDS = BatchBounds(max_tokens=512, min_tokens=64, max_sequences=16, min_sequences=4, p99_s=0.1)


def full_steps(limits: BatchLimits, step_s: float, count: int = FAST_STEPS, waiting: int = 0) -> None:
    for _ in range(count):
        limits.observe(step_s, limits.tokens, limits.sequences, waiting)


def test_it_begins_with_all_that_is_allowed():
    limits = BatchLimits(BOUNDS)
    assert (limits.tokens, limits.sequences) == (512, 16)


def test_a_step_of_twice_the_bound_halves_the_tokens():
    limits = BatchLimits(BOUNDS)
    limits.observe(0.2, 512, 5, 0)
    assert (limits.tokens, limits.sequences) == (256, 16)


def test_one_slow_step_in_a_hundred_changes_nothing():
    limits = BatchLimits(BOUNDS)
    for _ in range(WINDOW - 1):
        limits.observe(0.01, 5, 5, 0)
    limits.observe(0.2, 512, 5, 0)
    assert limits.tokens == 512
    limits.observe(0.2, 512, 5, 0)
    assert limits.tokens < 512


def test_where_no_tokens_are_left_to_spare_fewer_replies_are_computed():
    limits = BatchLimits(BOUNDS)
    for _ in range(10):
        limits.observe(0.2, limits.tokens, limits.sequences, 3)
    assert (limits.tokens, limits.sequences) == (64, 4)


def test_full_steps_that_are_quick_make_room_again():
    limits = BatchLimits(BOUNDS)
    limits.observe(0.4, 512, 5, 0)
    before = limits.tokens
    full_steps(limits, 0.05)
    assert before < limits.tokens < 512


def test_those_who_wait_get_places_before_prompts_get_more_tokens():
    limits = BatchLimits(BOUNDS)
    for _ in range(10):
        limits.observe(0.2, limits.tokens, limits.sequences, 3)
    full_steps(limits, 0.05, waiting=3)
    assert (limits.tokens, limits.sequences) == (64, 6)


def test_steps_with_little_in_them_tell_nothing_of_larger_ones():
    limits = BatchLimits(BOUNDS)
    limits.observe(0.4, 512, 5, 0)
    before = limits.tokens
    for _ in range(100):
        limits.observe(0.01, 5, 5, 0)
    assert limits.tokens == before


def test_steps_just_under_the_bound_leave_the_limits_as_they_are():
    limits = BatchLimits(BOUNDS)
    limits.observe(0.2, 512, 5, 0)
    full_steps(limits, 0.09, count=50)
    assert limits.tokens == 256


@given(st.lists(st.tuples(st.floats(0.001, 3), st.integers(1, 512), st.integers(1, 16), st.integers(0, 9))))
def test_the_limits_stay_within_their_bounds(steps):
    limits = BatchLimits(BOUNDS)
    for step in steps:
        limits.observe(*step)
        assert 64 <= limits.tokens <= 512
        assert 4 <= limits.sequences <= 16
