"""Callers' questions as people type them."""

from __future__ import annotations

from random import Random

from examples.hotel_model.data.typed import typed, uncontracted


def _all(text: str) -> set[str]:
    return {typed(text, Random(seed)) for seed in range(80)}


def test_a_question_may_be_typed_with_capital_and_question_mark() -> None:
    assert "Where is the pool?" in _all("where is the pool")


def test_a_number_of_nights_may_be_typed_in_digits() -> None:
    assert any("2 nights" in text for text in _all("i need a room for two nights"))


def test_other_numbers_stay_words() -> None:
    assert all("seven" in text.lower() for text in _all("wake me at seven"))


def test_a_statement_gets_no_question_mark() -> None:
    assert all("?" not in text for text in _all("the shower is broken"))


def test_contractions_are_written_out() -> None:
    assert uncontracted("i'm coming by car what's it cost") == "i am coming by car what is it cost"
    assert uncontracted("we won't and they don't") == "we will not and they do not"
    assert uncontracted("the hotel's bar at five o'clock") == "the hotel's bar at five o'clock"
