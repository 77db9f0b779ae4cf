from __future__ import annotations

import pytest

from voiceagent.testing.words import says


@pytest.mark.parametrize("words", ["two tuna", "Two TUNA,", "2 tuna", "tuna, anything"])
def test_words_are_compared_as_they_are_spoken(words: str) -> None:
    assert says("So: two tuna. Anything else?", words, "en", heard=False)


@pytest.mark.parametrize("words", ["tuna two", "two", "un"])
def test_other_words_and_parts_of_words_are_not_said(words: str) -> None:
    assert not says("tuna, three times", words, "en", heard=False)


@pytest.mark.parametrize(
    "said", ["the table is hooked for two", "table is booked for two", "the table it is booked for 2"]
)
def test_one_word_of_four_may_be_misheard(said: str) -> None:
    assert says(said, "The table is booked for two.", "en", heard=True)
    assert not says(said, "The table is booked for two.", "en", heard=False)


def test_a_short_phrase_must_be_heard_word_for_word() -> None:
    assert not says("two tune", "two tuna", "en", heard=True)
    assert not says("the cable is hooked for two", "the table is booked for two", "en", heard=True)
