"""Templates: what they expand to, and the pattern of everything they can."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.hotel_model.data.templates import expand, pattern, slots_of

_LEXICON = {"ask": ("can you tell me", "do you know")}
_SLOTS = {"x": ("the pool", "the bar")}

_word: st.SearchStrategy[str] = st.text("abcdefg'", min_size=1, max_size=4)
_choice: st.SearchStrategy[str] = st.lists(_word, min_size=1, max_size=2).map(
    lambda options: "(" + "|".join(options) + ")"
)
_part: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        _word,
        st.just("<ask>"),
        st.just("[x]"),
        st.lists(st.one_of(_word, st.just(""), _choice), min_size=1, max_size=3).map(
            lambda options: "(" + "|".join(options) + ")"
        ),
    )
)
_template = st.lists(_part, min_size=1, max_size=5).map(" ".join)


def test_a_choice_is_one_of_its_options() -> None:
    texts = {expand("is it (hot|cold|)", Random(seed), {}) for seed in range(30)}
    assert texts == {"is it hot", "is it cold", "is it"}


def test_names_and_slots_are_filled_in() -> None:
    text = expand("<ask> where [x] is", Random(1), {"ask": ("tell me",)}, {"x": "the bar"})
    assert text == "tell me where the bar is"


def test_a_slot_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        expand("where is [x]", Random(1), {})


def test_the_slots_of_a_template_are_found() -> None:
    assert slots_of("(a|the) [room] for [stay]") == {"room", "stay"}


@given(_template, st.integers(0, 999), st.sampled_from(_SLOTS["x"]))
def test_the_pattern_matches_every_text_of_its_template(template: str, seed: int, x: str) -> None:
    text = expand(template, Random(seed), _LEXICON, {"x": x})
    assert pattern(template, _LEXICON, _SLOTS).fullmatch(text)


def test_the_pattern_matches_nothing_else() -> None:
    only = pattern("is (it|that) [x]", _LEXICON, _SLOTS)
    assert not only.fullmatch("is this the pool")
    assert not only.fullmatch("is it the pool please")
