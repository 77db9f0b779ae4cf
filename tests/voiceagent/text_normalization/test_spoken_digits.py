"""Digits as they are said, in the languages that numbers have words in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.spoken_digits import digits_of, places_of_digits, trailing_digits


@pytest.mark.parametrize(
    ("said", "digits"),
    [
        ("four two, one five", "4215"),
        ("It's 42 15.", "4215"),
        ("double one, triple oh seven", "110007"),
        ("forty-two seventeen", "4217"),
        ("my number is one", "1"),
        ("I forgot it", ""),
        ("", ""),
    ],
)
def test_english(said: str, digits: str) -> None:
    assert digits_of(said, "en") == digits


@pytest.mark.parametrize(
    ("said", "language", "digits"),
    [
        ("eins zwo drei", "de", "123"),
        ("zweiundvierzig null", "de", "420"),
        ("cuarenta y dos, siete", "es", "427"),
        ("quelque chose", "fr", ""),
        ("four 7", "xx", "7"),
    ],
)
def test_other_languages_by_their_number_words(said: str, language: str, digits: str) -> None:
    assert digits_of(said, language) == digits


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.sampled_from(["en", "de", "es", "fr", "nl"]))
def test_single_digits_are_found_in_any_number(digits: list[int], language: str) -> None:
    said = ", ".join(str(in_words(digit, find_language(language))) for digit in digits)
    # a pause between two digits is not written by every recognizer: "twenty one" is never made of these
    assert digits_of(said, language) == "".join(map(str, digits))


@pytest.mark.parametrize(
    ("said", "digits"),
    [
        ("it's flat 4 and the number is forty two double one", "4211"),
        ("555 123 triple seven", "555123777"),
        ("five five double", "55"),
        ("555 123 thanks", ""),
        ("", ""),
    ],
)
def test_only_the_digits_at_the_end(said: str, digits: str) -> None:
    assert trailing_digits(said.split(), "en") == digits


def test_a_long_number_read_digit_by_digit_has_the_places_of_its_digits() -> None:
    words = "plus four four, two zero"
    assert [(words[at:], at_digit) for at, at_digit in places_of_digits("+44 20", words, "en")] == [
        ("four, two zero", 2),
        ("two zero", 4),
        ("zero", 5),
    ]


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("204", "two oh four"),  # short
        ("1500", "one thousand five hundred"),
        ("1999", "nineteen ninety-nine"),
        ("1-800", "one, eight hundred"),
    ],
)
def test_a_number_that_is_short_or_read_otherwise_is_one_word(written: str, words: str) -> None:
    assert places_of_digits(written, words, "en") == []
