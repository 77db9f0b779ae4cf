from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message
from llmcore.prompt import TURNS_DROPPED_AT_ONCE, PromptTooLong, common_prefix, fit_to_budget, split_turns

SYSTEM = Message("system", "facts")


def conversation(turns: int) -> tuple[Message, ...]:
    """So many questions, each answered but the last."""
    messages = [SYSTEM]
    for number in range(turns):
        messages += [Message("user", f"q{number}"), Message("assistant", f"a{number}")]
    return tuple(messages[:-1])


def count(messages: tuple[Message, ...]) -> int:
    return 10 * len(messages)


def test_a_user_message_begins_a_turn() -> None:
    static, turns = split_turns(conversation(2))
    assert static == (SYSTEM,)
    assert [[message.content for message in turn] for turn in turns] == [["q0", "a0"], ["q1"]]


def test_a_greeting_before_the_first_question_is_a_turn_of_its_own() -> None:
    _, turns = split_turns((SYSTEM, Message("assistant", "Hello."), Message("user", "q")))
    assert len(turns) == 2


def test_a_conversation_within_the_budget_stays_whole() -> None:
    messages = conversation(3)
    assert fit_to_budget(messages, count(messages), count) == messages


def test_the_oldest_turns_go_first() -> None:
    kept = fit_to_budget(conversation(10), 100, count)
    assert kept[0] == SYSTEM
    assert kept[-1].content == "q9"
    assert kept[1].role == "user"


def test_the_prompts_after_a_drop_share_their_beginning() -> None:
    # Prefix caches live from that: one drop, then several turns that only append.
    kept = [fit_to_budget(conversation(turns), 150, count) for turns in range(8, 8 + TURNS_DROPPED_AT_ONCE)]
    assert len({messages[1].content for messages in kept}) == 1


def test_a_newest_turn_that_alone_is_too_long_is_refused() -> None:
    with pytest.raises(PromptTooLong, match="20 tokens, at most 15"):
        fit_to_budget(conversation(4), 15, count)


@given(st.integers(1, 40), st.integers(20, 500))
def test_what_is_kept_fits_and_is_a_beginning_and_an_end(turns: int, budget: int) -> None:
    messages = conversation(turns)
    kept = fit_to_budget(messages, budget, count)
    assert count(kept) <= budget
    assert kept[0] == SYSTEM
    assert kept[1:] == messages[len(messages) - len(kept) + 1 :]


def test_the_common_prefix_ends_at_the_first_difference() -> None:
    assert common_prefix([1, 2, 3, 4], [1, 2, 9, 4]) == 2
    assert common_prefix([], [1]) == 0
    assert common_prefix([1, 2], [1, 2, 3]) == 2
