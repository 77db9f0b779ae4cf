from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.compression.history_budget import HistoryBudget, TokenEstimate, turns_to_replace
from llmcore.engine import Message, ToolCall, Usage

BUDGET = HistoryBudget(max_tokens=100, kept_tokens=30)


def test_a_history_within_its_budget_stays() -> None:
    assert turns_to_replace([20] * 5, 0, BUDGET) == 0


def test_beyond_it_many_turns_go_at_once() -> None:
    # So that the next prompts share their beginning until it is full again.
    assert turns_to_replace([20] * 6, 0, BUDGET) == 5


def test_the_summary_of_older_turns_counts_too() -> None:
    assert turns_to_replace([20] * 5, 1, BUDGET) == 4


def test_the_newest_turn_stays_however_long_it_is() -> None:
    assert turns_to_replace([20, 500], 0, BUDGET) == 1
    assert turns_to_replace([500], 0, BUDGET) == 0


def test_without_a_budget_nothing_goes() -> None:
    assert turns_to_replace([1000] * 9, 0, HistoryBudget()) == 0


@given(st.lists(st.integers(1, 200), min_size=1), st.integers(0, 50))
def test_what_stays_is_within_the_limit_or_the_newest_turn(turns: list[int], other: int) -> None:
    count = turns_to_replace(turns, other, BUDGET)
    assert 0 <= count < len(turns)
    if count:
        assert sum(turns) + other > BUDGET.max_tokens
        assert sum(turns[count:]) <= BUDGET.kept_tokens or count == len(turns) - 1


def test_tokens_are_estimated_by_what_the_engine_counted() -> None:
    estimate = TokenEstimate()
    messages = [Message("user", "a" * 60), Message("assistant", "", (ToolCall("1", "b" * 10, "c" * 30),))]
    assert estimate.tokens(messages) == 25
    estimate.observe(messages, Usage(prompt_tokens=50))
    assert estimate.tokens(messages) == 50
    estimate.observe(messages, Usage())
    assert estimate.tokens(messages) == 50


def test_a_count_that_leaves_out_cached_tokens_makes_no_text_look_short() -> None:
    estimate = TokenEstimate()
    messages = [Message("user", "a" * 4000)]
    estimate.observe(messages, Usage(prompt_tokens=10))  # all but the last words were cached
    assert estimate.tokens(messages) == 400
