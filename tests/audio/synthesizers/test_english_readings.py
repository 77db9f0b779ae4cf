"""Words that are spelled alike are read by what stands around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.synthesizers.english_readings import reading_of


@pytest.mark.parametrize(
    ("text", "word", "reading"),
    [
        ("Where do you live?", "live?", "verb"),
        ("I used to live here.", "live", "verb"),
        ("We have live music.", "live", "noun"),
        ("I can connect you to a live agent.", "live", "noun"),
        ("Where does Anna live?", "live?", "verb"),
        ("Do many people live near the hotel?", "live", "verb"),
        ("This is a live stream.", "live", "noun"),
        ("The Live API goes live today.", "live", "noun"),
        ("She lives here.", "lives", "verb"),
        ("It saved their lives.", "lives.", "noun"),
        ("Please use the side door.", "use", "verb"),
        ("Use the code.", "Use", "verb"),
        ("Visitors use the side door.", "use", "verb"),
        ("He uses it.", "uses", "verb"),
        ("Let me record that.", "record", "verb"),
        ("We record calls.", "record", "verb"),
        ("Excuse me.", "Excuse", "verb"),
        ("It is close to the station.", "close", "near"),
        ("The beach is very close.", "close.", "near"),
        ("A hotel close to the beach.", "close", "near"),
        ("I used to go there.", "used", "habit"),
        ("Take vitamin A.", "A.", "letter"),
    ],
)
def test_word_has_the_reading_of_its_sentence(text: str, word: str, reading: str) -> None:
    words = text.split()
    assert reading_of(words, words.index(word)) == reading


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The use of the pool is free.", "use"),
        ("Separate rooms are free.", "Separate"),
        ("Your record is here.", "record"),
        ("Send me record 5.", "record"),
        ("We close at ten.", "close"),
        ("We close to the public at ten.", "close"),
        ("It is used to heat water.", "used"),
        ("The key used to open it is here.", "used"),
        ("A room is free.", "A"),
        ("Make a U turn.", "a"),
        ("Thank you. Record 5 is here.", "Record"),
    ],
)
def test_other_words_are_left_to_the_library(text: str, word: str) -> None:
    words = text.split()
    assert reading_of(words, words.index(word)) is None


@given(
    st.lists(st.sampled_from(["a", "A,", "live", "use", "close", "used", "to", "we", ".", "-", "B", "uses"]))
)
def test_no_row_of_words_fails(words: list[str]) -> None:
    for at in range(len(words)):
        reading_of(words, at)
