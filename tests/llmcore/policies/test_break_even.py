from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.speculation import LATER_PLAIN_INTERVAL, MAX_REPLIES, MIN_REPLIES, BreakEven

PLAIN = (0.05, 0.01)


def compared(ttft_s: float, token_s: float, times: int = MIN_REPLIES) -> BreakEven:
    """So many replies with the draft, and as many without."""
    break_even = BreakEven()
    for _ in range(times):
        break_even.observe(ttft_s, token_s, drafted=True)
        break_even.observe(*PLAIN, drafted=False)
    return break_even


def test_nothing_is_known_from_few_replies():
    assert compared(0.05, 0.005, MIN_REPLIES - 1).pays(100) is None


def test_what_a_draft_saves_grows_with_the_length_of_replies():
    break_even = compared(0.052, 0.0099)
    assert break_even.pays(10) is False
    assert break_even.pays(100) is True


def test_one_slow_reply_decides_nothing():
    break_even = compared(0.05, 0.005)
    break_even.observe(9.0, 9.0, drafted=True)
    assert break_even.pays(100) is True


def test_what_was_long_ago_does_not_count():
    break_even = compared(0.05, 0.005)
    for _ in range(MAX_REPLIES):
        break_even.observe(0.05, 0.02, drafted=True)
    assert break_even.pays(100) is False


def test_it_forgets_what_was_measured_under_another_load():
    break_even = compared(0.05, 0.005)
    break_even.reset()
    assert break_even.pays(100) is None


def test_once_enough_is_known_few_replies_go_without():
    break_even = compared(0.05, 0.005)
    assert sum(break_even.is_plain_due() for _ in range(10 * LATER_PLAIN_INTERVAL)) == 10


@given(st.floats(0.001, 1.0), st.floats(0.0001, 0.1), st.integers(1, 1000))
def test_a_draft_that_changes_nothing_never_pays(ttft_s, token_s, tokens):
    break_even = BreakEven()
    for _ in range(MIN_REPLIES):
        break_even.observe(ttft_s, token_s, drafted=True)
        break_even.observe(ttft_s, token_s, drafted=False)
    assert break_even.pays(tokens) is False
