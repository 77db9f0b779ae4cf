"""Misrecognitions of a question."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from examples.hotel_model.data.recognizer_errors import misheard

_words = st.lists(
    st.sampled_from(("what", "is", "the", "double", "room", "for", "two", "nights")), min_size=1, max_size=9
)


@given(_words, st.integers(0, 999))
def test_a_misheard_question_keeps_max_of_its_length(words: list[str], seed: int) -> None:
    heard = misheard(" ".join(words), Random(seed)).split()
    assert len(words) - 2 <= len(heard) <= len(words) + 4
    assert heard


@given(st.integers(0, 999))
def test_a_single_word_is_heard_right(seed: int) -> None:
    assert misheard("breakfast", Random(seed)) == "breakfast"


def test_words_are_dropped_and_replaced_and_put_in() -> None:
    said = "how much is the double room"
    heard = {misheard(said, Random(seed)) for seed in range(200)}
    assert "how much is double room" in heard
    assert "how much is the trouble room" in heard
    assert any(len(text.split()) > 6 for text in heard)
