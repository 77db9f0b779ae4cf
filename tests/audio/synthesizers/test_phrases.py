"""Texts cut into phrases: nothing is lost, the first is short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.synthesizers.phrases import phrases

LONG = "We have a double room with a view of the lake, for a hundred and twenty dollars, with breakfast."


def cut(text: str, first: bool = True) -> list[str]:
    return [phrase.text.strip() for phrase in phrases(text, first)]


@given(
    text=st.text(alphabet="ab ,.;!\n", max_size=200),
    first=st.booleans(),
    longest=st.integers(min_value=0, max_value=200),
)
def test_phrases_cover_every_word_in_order(text: str, first: bool, longest: int) -> None:
    found = list(phrases(text, first, longest))
    assert "".join(phrase.text for phrase in found).split() == text.split()
    assert all(text[phrase.character :].startswith(phrase.text) for phrase in found)


def test_sentences_are_phrases() -> None:
    assert cut("Yes. It is open! Is it?", first=False) == ["Yes.", "It is open!", "Is it?"]


def test_long_first_sentence_is_cut_at_its_first_comma() -> None:
    assert cut(LONG) == [
        "We have a double room with a view of the lake,",
        "for a hundred and twenty dollars, with breakfast.",
    ]


def test_sentences_over_the_longest_are_cut_at_the_last_comma_within_it() -> None:
    found = [phrase.text.strip() for phrase in phrases(LONG, first=False, longest=90)]
    assert found == [
        "We have a double room with a view of the lake, for a hundred and twenty dollars,",
        "with breakfast.",
    ]
    assert [phrase.text for phrase in phrases("no comma in it " * 20, False, 80)] == ["no comma in it " * 20]


def test_later_sentences_are_not_cut() -> None:
    assert cut(LONG, first=False) == [LONG]
    assert cut(f"Of course. {LONG}") == ["Of course.", LONG]


@pytest.mark.parametrize(
    "text",
    [
        "No, thank you.",
        "Yes, we have a double room with a view of the lake.",
        "We have a double room with a view of the lake, too.",
        "The total is 12,500 dollars for the whole of next week",
    ],
)
def test_short_sentences_short_clauses_and_numbers_stay_whole(text: str) -> None:
    assert cut(text) == [text]
