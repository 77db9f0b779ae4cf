"""Phrases in place of words that are nearly written so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.near_phrases import NearPhrases

COMMON = {"my", "order", "is", "from", "the", "clerk", "oak", "hollow", "at", "call"}
PHRASES = ("Zyntara", "Brennwick", "Oakhollow", "Clark", "Mr. Quillmark", "Levothyroxine", "Eve")


def is_common(word: str) -> bool:
    return word.lower() in COMMON


@pytest.mark.parametrize(
    ("heard", "corrected"),
    [
        ("My order is from Zintara.", "My order is from Zyntara."),
        ("Brenwick's order?", "Brennwick's order?"),
        ("At Oak Hollow, please.", "At Oakhollow, please."),
        ("Call mr Quilmark.", "Call Mr. Quillmark."),
        ("Levo thyroxin, please.", "Levothyroxine, please."),
        ("zyntara", "Zyntara"),
    ],
)
def test_words_near_a_phrase_are_written_as_it_is(heard: str, corrected: str) -> None:
    assert NearPhrases(PHRASES, is_common).correct(heard) == corrected


@pytest.mark.parametrize(
    "heard",
    ["The clerk is from Santara.", "Even the oak.", "Is Bren from Zyn?", "Ocala is hollow.", "", "..."],
)
def test_common_words_and_words_farther_away_stay(heard: str) -> None:
    assert NearPhrases(PHRASES, is_common).correct(heard) == heard


@pytest.mark.parametrize("heard", ["You may call May, may you?", "May I? mark it, Mark."])
def test_a_common_word_keeps_the_case_of_its_sentence(heard: str) -> None:
    phrases = NearPhrases(("May", "mark", "Zyntara"), lambda word: word.lower() in {"may", "mark"})
    assert phrases.correct(heard) == heard


def test_a_phrase_of_common_words_is_written_as_it_is() -> None:
    phrases = NearPhrases(("Blue Moon",), lambda word: word.lower() in {"blue", "moon"})
    assert phrases.correct("A blue moon, please.") == "A Blue Moon, please."


@given(st.lists(st.sampled_from(sorted(COMMON)), max_size=12))
def test_a_text_of_common_words_stays(words: list[str]) -> None:
    phrases = NearPhrases(("Zyntara", "Holloway", "Clark"), is_common)
    assert phrases.correct(" ".join(words)) == " ".join(words)
