"""Replies that repeat themselves are noticed, however they come; ordinary ones never are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.conversation.repetition import RepetitionGuard

WORDS = st.sampled_from(["one", "two", "please", "bring", "your", "passport", "to", "the", "desk"])


def noticed(*pieces: str) -> bool:
    guard = RepetitionGuard()
    return any([guard.push(piece) for piece in pieces])


@pytest.mark.parametrize(
    "reply",
    [
        "Please bring your passport or please bring your passport or please bring your passport or please",
        "Breakfast is from seven to ten on floor one. Breakfast is from seven to ten on floor one. ",
        "I see. You like it. I see. You like it. I see. You like it. ",
    ],
)
def test_a_run_of_words_said_again_and_again(reply: str) -> None:
    assert noticed(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "No, no, no, no, that is fine. ",
        "Your number is one one one one one one one one one one one one. ",
        "We have a room with a view, and a room with a bath. ",
        "Thank you. Thank you. Good night. ",
    ],
)
def test_ordinary_replies(reply: str) -> None:
    assert not noticed(reply)


@given(st.lists(WORDS, min_size=8, max_size=60, unique=False), st.lists(WORDS, max_size=20))
def test_any_run_of_eight_words_said_twice(run: list[str], before: list[str]) -> None:
    assert noticed(" ".join([*before, *run, *run, ""])) or len(set(run)) < 3


@given(st.lists(WORDS, max_size=40), st.integers(1, 7))
def test_it_makes_no_difference_how_the_text_came(words: list[str], size: int) -> None:
    text = " ".join([*words, ""])
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert noticed(*pieces) == noticed(text)
