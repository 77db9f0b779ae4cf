"""The page of facts the demo model reads, and the answers that repeat it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.hotel_model.data.catalogue import Aspect, catalogue
from examples.hotel_model.data.room_answers import total
from voiceagent.bench.scoring import spoken
from voiceagent.demo.world import ROOMS, Room, spoken_number, system_prompt

_ASPECTS = [aspect for topic in catalogue().topics.values() for aspect in topic.aspects.values()]
_NUMBERS = frozenset(spoken_number(value) for value in range(1, 100)) | {"noon", "midnight"}


def test_the_system_prompt_is_the_same_in_every_call() -> None:
    assert system_prompt() == system_prompt()
    assert 550 <= len(system_prompt().split()) <= 800


@pytest.mark.parametrize("aspect", _ASPECTS, ids=lambda aspect: aspect.intent)
def test_every_number_in_an_answer_stands_on_the_page_of_facts(aspect: Aspect) -> None:
    page = f" {spoken(system_prompt())} "
    for word in re.findall(r"[a-z]+", spoken(aspect.answer)):
        assert word not in _NUMBERS or f" {word} " in page, word


@pytest.mark.parametrize("aspect", _ASPECTS, ids=lambda aspect: aspect.intent)
def test_an_answer_is_one_to_three_short_sentences_without_digits(aspect: Aspect) -> None:
    sentences = re.split(r"(?<=[.?!]) ", aspect.answer)
    assert len(sentences) <= 3
    assert all(len(sentence.split()) <= 28 for sentence in sentences)
    assert not re.search(r"\d", aspect.answer)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_room_and_its_price_stand_on_the_page_of_facts(room: Room) -> None:
    assert f"{room.total(1)} dollars a night" in system_prompt()


def test_a_stay_costs_the_price_of_its_nights() -> None:
    single = ROOMS[0]
    assert total(single, 3) == "The single room for three nights is two hundred and seventy dollars."


def test_a_stay_without_a_fixed_price_is_refused() -> None:
    with pytest.raises(ValueError, match="5 nights"):
        total(ROOMS[0], 5)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "zero"),
        (15, "fifteen"),
        (90, "ninety"),
        (120, "one hundred and twenty"),
        (1000, "one thousand"),
        (1020, "one thousand and twenty"),
    ],
)
def test_numbers_are_spoken(value: int, words: str) -> None:
    assert spoken_number(value) == words


@given(st.integers(0, 9_999), st.integers(0, 9_999))
def test_different_numbers_are_spoken_differently(one: int, other: int) -> None:
    assert (spoken_number(one) == spoken_number(other)) == (one == other)


def test_a_number_too_large_to_be_spoken_is_refused() -> None:
    with pytest.raises(ValueError, match="10000"):
        spoken_number(10_000)
