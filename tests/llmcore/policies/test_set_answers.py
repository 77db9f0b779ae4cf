"""Answers in set words."""

from __future__ import annotations

import re

import pytest

from llmcore.engine import Message
from llmcore.policies.set_answers import SetAnswer, answer_to

NIGHTS = SetAnswer(re.compile(r"room for (?P<nights>\w+) nights", re.IGNORECASE), "For {nights} nights.")
HOURS = SetAnswer(re.compile("open", re.IGNORECASE), "From nine to five.")


def answer(*messages: Message) -> str | None:
    return answer_to(messages, (NIGHTS, HOURS))


def test_words_with_the_pattern_get_its_answer_with_what_the_group_found() -> None:
    assert answer(Message("user", "A ROOM for two nights, please.")) == "For two nights."


def test_the_first_answer_that_fits_counts() -> None:
    assert answer(Message("user", "Is a room for two nights open?")) == "For two nights."


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (Message("user", "Hello."),),
        (Message("user", "When are you open?"), Message("assistant", "Always.")),
        (Message("user", "When are you open?"), Message("tool", "at nine", (), "call_1")),
    ],
    ids=["nothing", "other words", "answered already", "after a tool"],
)
def test_all_else_is_left_to_the_model(messages: tuple[Message, ...]) -> None:
    assert answer(*messages) is None


@pytest.mark.parametrize("text", ["For {days}.", "For {}.", "For {"])
def test_a_field_that_the_pattern_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"allowed: \{nights\}"):
        SetAnswer(NIGHTS.pattern, text)
