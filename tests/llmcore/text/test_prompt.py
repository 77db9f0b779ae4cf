from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmcore.engine import Message, Tool
from llmcore.text.prompt import (
    TURNS_DROPPED_AT_ONCE,
    PrefixChange,
    PromptLayout,
    PromptTooLong,
    common_prefix,
    fit_to_budget,
    split_turns,
)

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


def change(*prompts: tuple[Message, ...]) -> PrefixChange | None:
    """Return the first difference between the last two of a call's prompts."""
    layout = PromptLayout()
    return [layout.check(prompt, ()) for prompt in prompts][-1]


def test_a_conversation_that_grows_keeps_its_beginning() -> None:
    assert change(conversation(1), conversation(2), conversation(3)) is None


def test_the_last_turn_may_change_after_a_pause() -> None:
    assert change((SYSTEM, Message("user", "well")), (SYSTEM, Message("user", "well now"))) is None


def test_a_clock_in_the_system_prompt_is_found_with_its_place() -> None:
    first = (Message("system", "It is 10:14. You keep the desk."), Message("user", "q"))
    second = (Message("system", "It is 10:15. You keep the desk."), Message("user", "r"))
    assert change(first, second) == PrefixChange(
        "instructions", "0 (system)", 10, "4. You keep the desk.", "5. You keep the desk."
    )


def test_a_history_that_was_rewritten_is_found() -> None:
    rewritten = tuple(
        Message("assistant", "a different answer") if message.content == "a0" else message
        for message in conversation(3)
    )
    found = change(conversation(2), rewritten)
    assert found is not None
    assert (found.part, found.place, found.before) == ("history", "2 (assistant)", "0")


def test_a_history_that_is_gone_is_found() -> None:
    found = change(conversation(3), (SYSTEM, Message("user", "q3")))
    assert found is not None
    assert found.place == "1 (user)"


def test_other_tools_are_found_as_templates_write_them_first() -> None:
    layout = PromptLayout()
    layout.check(conversation(1), (Tool("open_door", ""),))
    found = layout.check(conversation(2), (Tool("open_gate", ""),))
    assert found is not None
    assert found.part == "tools"


@given(st.lists(st.sampled_from(["user", "assistant", "tool", "system"]), max_size=12), st.integers(0, 12))
def test_a_prompt_never_leaves_its_own_beginning(roles: list[str], cut: int) -> None:
    messages = tuple(Message(role, f"{index}") for index, role in enumerate(roles))  # type: ignore[arg-type]
    assert change(messages[:cut], messages) is None


def test_thousands_of_turns_are_counted_a_few_times() -> None:
    counted: list[int] = []

    def counting(messages: tuple[Message, ...]) -> int:
        counted.append(len(messages))
        return count(messages)

    fit_to_budget(conversation(4_000), 200, counting)
    assert len(counted) <= 14
