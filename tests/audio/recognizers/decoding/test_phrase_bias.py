from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.phrase_bias import Marks, PhraseBias

BEGIN, END, SIZE = 1, 2, 50
POOL, IS, OPEN, CLOSED, COMMA, STOP = 3, 4, 5, 6, 7, 8
MARKS = Marks(BEGIN, END, commas=frozenset({COMMA}), stops=frozenset({STOP}))
PHRASES = [[POOL, IS, OPEN], [POOL, IS, OPEN], [POOL, IS, CLOSED], [IS, OPEN]]

tokens = st.integers(STOP + 1, SIZE - 1)
phrase_lists = st.lists(st.lists(tokens, max_size=6), max_size=12)


def bias(phrases: list[list[int]]) -> PhraseBias:
    return PhraseBias(phrases, MARKS, SIZE)


def test_what_follows_oftener_is_likelier() -> None:
    opened, closed, pool = bias(PHRASES).logarithms([BEGIN, POOL, IS], [OPEN, CLOSED, POOL])
    assert opened > closed > pool


def test_a_phrase_begins_and_ends_as_the_examples_do() -> None:
    likely = bias(PHRASES)
    pool, opened = likely.logarithms([BEGIN], [POOL, OPEN])
    assert pool > opened
    end, again = likely.logarithms([BEGIN, POOL, IS, OPEN], [END, OPEN])
    assert end > again


def test_a_word_that_joins_may_follow_anything_and_makes_nothing_else_likelier() -> None:
    joining, other = 9, 10
    likely = PhraseBias(PHRASES, replace(MARKS, joining=frozenset({joining})), SIZE)
    before = [BEGIN, POOL, IS, OPEN]
    assert likely.logarithms(before, [joining]) > bias(PHRASES).logarithms(before, [joining])
    assert likely.logarithms(before, [other, END]) == bias(PHRASES).logarithms(before, [other, END])


def test_where_the_phrases_say_nothing_all_tokens_are_alike() -> None:
    assert bias([]).logarithms([BEGIN, 9, 10], [11, 12]) == [pytest.approx(math.log(1 / SIZE))] * 2


@given(phrase_lists, st.lists(tokens, max_size=5))
def test_the_probabilities_of_all_tokens_come_to_one(phrases: list[list[int]], before: list[int]) -> None:
    logarithms = PhraseBias(phrases, Marks(BEGIN, END), SIZE).logarithms([BEGIN, *before], range(SIZE))
    assert math.fsum(map(math.exp, logarithms)) == pytest.approx(1, abs=SIZE * 1e-4)


@given(phrase_lists, st.lists(tokens, max_size=5), tokens)
def test_no_token_is_impossible(phrases: list[list[int]], before: list[int], token: int) -> None:
    [logarithm] = bias(phrases).logarithms([BEGIN, *before], [token])
    assert math.log(1e-4) <= logarithm <= 0


def test_a_comma_says_nothing_for_or_against_what_is_said() -> None:
    likely = bias(PHRASES)
    before = [BEGIN, POOL, IS]
    assert likely.logarithms(before, [COMMA]) == [0.0]
    assert likely.logarithms([*before, COMMA], [OPEN]) == likely.logarithms(before, [OPEN])
    said = [[*range(20, 32), STOP]] * 3
    assert bias(said).evidence([BEGIN, 20, COMMA, *said[0][1:], END]) == bias(said).evidence(
        [BEGIN, *said[0], END]
    )


def test_a_sentence_that_is_a_phrase_is_nearer_to_the_phrases_and_one_that_is_none_is_not() -> None:
    phrase, other = [*range(20, 32), STOP], [*range(32, 44), STOP]
    likely = bias([phrase] * 3)
    assert likely.evidence([BEGIN, *phrase, END]) > 10
    assert likely.evidence([BEGIN, *other, END]) == 0


def test_what_is_said_before_and_after_a_sentence_takes_nothing_from_it() -> None:
    phrase, other = [*range(20, 32), STOP], [*range(32, 44), STOP]
    likely = bias([phrase] * 3)
    alone = likely.evidence([BEGIN, *phrase, END])
    assert likely.evidence([BEGIN, *phrase, *other, END]) == pytest.approx(alone, abs=5)
    assert likely.evidence([BEGIN, *other, *phrase, END]) > 10


def test_two_words_that_phrases_have_too_are_no_evidence() -> None:
    likely = bias([[*range(20, 32), STOP]] * 3)
    assert likely.evidence([BEGIN, 40, 41, 20, 21, 42, 43, 44, STOP, END]) == 0


@given(phrase_lists, st.lists(tokens, max_size=12))
def test_evidence_is_never_against_a_text(phrases: list[list[int]], text: list[int]) -> None:
    assert bias(phrases).evidence([BEGIN, *text, END]) >= 0
