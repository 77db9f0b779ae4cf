from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.phrase_bias import PhraseBias

BEGIN, END, SIZE = 1, 2, 50
POOL, IS, OPEN, CLOSED = 3, 4, 5, 6
PHRASES = [[POOL, IS, OPEN], [POOL, IS, OPEN], [POOL, IS, CLOSED], [IS, OPEN]]

tokens = st.integers(3, SIZE - 1)
phrase_lists = st.lists(st.lists(tokens, max_size=6), max_size=12)


def bias(phrases: list[list[int]]) -> PhraseBias:
    return PhraseBias(phrases, BEGIN, END, SIZE)


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
    joining, other = 7, 8
    likely = PhraseBias(PHRASES, BEGIN, END, SIZE, joining=frozenset({joining}))
    before = [BEGIN, POOL, IS, OPEN]
    assert likely.logarithms(before, [joining]) > bias(PHRASES).logarithms(before, [joining])
    assert likely.logarithms(before, [other, END]) == bias(PHRASES).logarithms(before, [other, END])


def test_where_the_phrases_say_nothing_all_tokens_are_alike() -> None:
    assert bias([]).logarithms([BEGIN, 7, 8], [9, 10]) == [pytest.approx(math.log(1 / SIZE))] * 2


@given(phrase_lists, st.lists(tokens, max_size=5))
def test_the_probabilities_of_all_tokens_come_to_one(phrases: list[list[int]], before: list[int]) -> None:
    logarithms = bias(phrases).logarithms([BEGIN, *before], range(SIZE))
    assert math.fsum(map(math.exp, logarithms)) == pytest.approx(1, abs=SIZE * 1e-4)


@given(phrase_lists, st.lists(tokens, max_size=5), tokens)
def test_no_token_is_impossible(phrases: list[list[int]], before: list[int], token: int) -> None:
    [logarithm] = bias(phrases).logarithms([BEGIN, *before], [token])
    assert math.log(1e-4) <= logarithm <= 0
