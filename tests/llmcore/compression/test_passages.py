"""Retrieved passages: which are shown, and their place in the prompt."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.compression.passages import Passage, choose_passages, newest_words, with_passages
from llmcore.engine import Message

SYSTEM = Message("system", "Be brief.")
CALL = (SYSTEM, Message("user", "Hello"), Message("assistant", "Hi."), Message("user", "Is there a pool?"))
PASSAGES = st.lists(
    st.builds(Passage, st.text("abc ", min_size=1, max_size=8), st.floats(-1, 1)),
    max_size=8,
    unique_by=lambda one: one.text,
)


def test_the_nearest_stand_first_and_the_far_are_left_out() -> None:
    found = [Passage("lift", 0.29), Passage("pool", 0.6), Passage("sauna", 0.31)]
    assert choose_passages(found, (), 0.3, 100) == ("pool", "sauna")


def test_what_is_shown_already_stays_in_front() -> None:
    found = [Passage("pool", 0.9), Passage("sauna", 0.4)]
    assert choose_passages(found, ("sauna",), 0.3, 100) == ("sauna", "pool")


def test_what_is_shown_goes_when_it_is_about_something_else() -> None:
    assert choose_passages([Passage("pool", 0.9), Passage("sauna", 0.1)], ("sauna",), 0.3, 100) == ("pool",)


def test_one_that_is_too_long_is_passed_over() -> None:
    found = [Passage("a very long text", 0.9), Passage("short", 0.5)]
    assert choose_passages(found, (), 0.3, 8) == ("short",)


@given(PASSAGES, PASSAGES, st.integers(0, 20))
def test_the_budget_and_the_relevance_always_hold(
    found: list[Passage], before: list[Passage], characters: int
) -> None:
    shown = choose_passages(before, (), 0.3, characters)
    chosen = choose_passages(found, shown, 0.3, characters)
    near = {one.text for one in found if one.cosine >= 0.3}
    assert set(chosen) <= near
    assert sum(map(len, chosen)) <= characters
    assert len(set(chosen)) == len(chosen)


def test_they_stand_before_the_newest_words_and_nothing_else_moves() -> None:
    told = with_passages(CALL, ("The pool opens at seven.",))
    assert told[:-1] == CALL[:-1]
    assert told[-1].content.endswith("The pool opens at seven.]\nIs there a pool?")


def test_behind_a_tool_they_stay_with_the_words_that_it_was_called_for() -> None:
    tool = (*CALL, Message("tool", "closed", tool_call_id="c"))
    told = with_passages(tool, ("The pool opens at seven.",))
    assert told[3].content.endswith("Is there a pool?")
    assert "seven" in told[3].content
    assert told[4] == tool[4]


def test_without_words_or_passages_a_prompt_is_as_it_was() -> None:
    assert with_passages((SYSTEM,), ("text",)) == (SYSTEM,)
    assert with_passages(CALL, ()) == CALL
    assert newest_words((SYSTEM,)) == (-1, "")
