from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from num2words import num2words  # type: ignore[import-untyped]  # ships no types

from llmcore.compression.numbers import number_runs


def keys(text: str, language: str = "en") -> list[str]:
    return [run.key for run in number_runs(text, language)]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("two nights", "2"),
        ("the third of May", "3"),
        ("the twenty-first", "21"),
        ("two hundred and fifty euros", "250"),
        ("three thousand two hundred and five", "3205"),
        ("1,200 euros", "1200"),
        ("on the 3rd", "3"),
        ("at 10:30", "1030"),
        ("at ten thirty", "1030"),
        ("at half past ten", "1030"),
        ("a quarter to eleven", "1045"),
        ("five five five oh one two", "555012"),
        ("555 012", "555012"),
        ("room A12", "a12"),
    ],
)
def test_a_number_has_one_key_however_it_is_written(text: str, key: str) -> None:
    assert keys(text) == [key]


def test_numbers_with_something_between_them_are_two() -> None:
    assert keys("two, three or four and five") == ["2", "3", "4", "5"]


def test_words_that_are_no_numbers_are_none() -> None:
    assert keys("I would like a room, please.") == []


@given(st.integers(2, 9999))
def test_every_number_in_words_is_read_as_in_digits(number: int) -> None:
    assert keys(num2words(number)) == keys(str(number))


def test_other_languages_have_their_own_words() -> None:
    assert keys("zwei Nächte", "de") == ["2"]
    assert keys("deux nuits", "fr") == ["2"]


def test_a_language_without_number_words_has_digits() -> None:
    assert keys("2 nights, two", "xx") == ["2"]


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("two nights", "nigh"),
        ("a 2-night stay", "nigh"),
        ("May 3", "may"),
        ("3rd of May", "may"),
        ("two for", ""),
    ],
)
def test_a_number_knows_what_it_counts(text: str, counted: str) -> None:
    (run,) = number_runs(text, "en")
    assert run.counted == counted
