"""Everyday sentences that ask the hotel for nothing."""

from __future__ import annotations

from random import Random

import pytest

from examples.hotel_model.data.catalogue import Split, catalogue
from examples.hotel_model.data.everyday import INTENT, Everyday, unasked
from examples.hotel_model.data.exchanges import DECLINES
from examples.hotel_model.data.templates import pattern

SLOTS = ("n", "nth", "who", "item", "weekday", "food", "device", "event", "vehicle", "unit", "at", "place")


def forms(split: Split) -> list[str]:
    return Everyday(split, Random(1)).forms


def test_the_set_is_large_enough_and_nothing_is_said_twice() -> None:
    assert len(unasked()) > 150
    assert len({item.words for item in unasked()}) == len(unasked())
    assert any(len(item.messages) > 1 for item in unasked())


def test_no_training_form_says_what_a_held_out_one_says() -> None:
    filled = {slot: ("x",) for slot in SLOTS}
    train = [pattern(form, catalogue().lexicon, filled) for form in forms("train")]
    for form in forms("heldout"):
        said = form
        for slot in SLOTS:
            said = said.replace(f"[{slot}]", "x")
        assert not any(matches.fullmatch(said) for matches in train), form


def test_training_knows_no_value_of_the_evaluation() -> None:
    for slot, values in Everyday("train", Random(1)).values.items():
        assert not set(values["train"]) & set(values["heldout"]), slot


@pytest.mark.parametrize("split", ["train", "heldout"])
def test_every_hole_is_filled(split: Split) -> None:
    everyday = Everyday(split, Random(2))
    said = [everyday.sentence(form) for form in everyday.forms]
    assert not [text for text in said if set(text) & set("[]()|<>")]


def test_it_is_declined_and_calls_nothing() -> None:
    exchange = Everyday("train", Random(6)).exchange()
    assert exchange.intent == INTENT and any(words in exchange.answer for words in DECLINES)
