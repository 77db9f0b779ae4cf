from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from llmcore.compression.facts import extract_facts, index_facts


def phrases(text: str, language: str = "en") -> list[str]:
    return [fact.phrase for fact in extract_facts(text, language)]


def test_names_numbers_and_dates_are_facts_with_their_neighbours() -> None:
    text = "I need a room for two nights from the third of May, for Mr Smith and my wife, on Monday."
    assert phrases(text) == ["for two nights", "the third of May", "May", "Mr Smith", "Monday"]


def test_the_capital_that_begins_a_sentence_makes_no_name() -> None:
    assert phrases("Hello. Could I have tea? Then I will go.") == []


def test_what_recognizers_write_in_small_letters_is_found_too() -> None:
    assert phrases("my name is anna and i come on tuesday") == ["anna", "tuesday"]


def test_one_and_second_alone_are_no_numbers() -> None:
    assert phrases("just a second, the other one, first of all") == []


def test_languages_whose_nouns_have_capitals_have_names_only_where_they_are_listed() -> None:
    assert phrases("ein Zimmer für zwei Nächte", "de") == ["für zwei Nächte"]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("for two nights", "a 2-night stay"),
        ("the third of May", "from 3 May"),
        ("the third of May", "from May 3rd"),
        ("at half past ten", "10:30"),
        ("call me anna lund", "Anna Lund wants"),
    ],
)
def test_a_fact_is_known_however_it_is_written(said: str, written: str) -> None:
    assert all(index_facts([said], "en").has(fact) for fact in extract_facts(written, "en"))
    assert all(index_facts([written], "en").has(fact) for fact in extract_facts(said, "en"))


@pytest.mark.parametrize("written", ["at 7:00", "at 19:00", "until 1900"])
def test_an_hour_may_be_written_in_other_ways_than_it_was_said(written: str) -> None:
    assert all(index_facts(["at seven"], "en").has(fact) for fact in extract_facts(written, "en"))


def test_a_number_of_other_things_is_another_fact() -> None:
    (nights,) = extract_facts("for two nights", "en")
    assert index_facts(["two adults"], "en").has(nights)
    assert not index_facts(["two adults"], "en").states(nights)
    assert index_facts(["2 nights"], "en").states(nights)


@given(st.text(), st.sampled_from(["en", "de", "fr", "zh", "xx"]))
@example("A:0", "en")
@example("1" * 5_000, "en")
@example("half past " + "1" * 5_000, "en")
def test_a_text_tells_all_its_own_facts(text: str, language: str) -> None:
    told = index_facts([text], language)
    assert [fact.phrase for fact in extract_facts(text, language) if not told.has(fact)] == []
