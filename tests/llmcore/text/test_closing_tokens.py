"""Tokens that close a sentence or a message."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import decoders

from llmcore.text.closing_tokens import MAX_CLOSING_TOKENS, closes, closing_tokens, summed

BYTES = decoders.ByteLevel()


def decode(token: str) -> str:
    return str(BYTES.decode([token]))


@pytest.mark.parametrize(
    "text", [".", "?", "!", " ?", '."', ".”", "!\n\n", "?)", "\n", "\n\n", "。", "！", "..", ".**"]
)
def test_a_token_that_ends_a_sentence_closes(text: str) -> None:
    assert closes(text)


@pytest.mark.parametrize(
    "text", ["", " ", ",", ".com", ".5", "a.", "...", ".\nThe", "(", '"', ":", "\nThe", "?="]
)
def test_a_token_that_begins_or_goes_on_closes_nothing(text: str) -> None:
    assert not closes(text)


def test_the_marks_come_first_and_tokens_are_read_in_their_own_letters() -> None:
    vocabulary = {"<|end|>": 0, ".": 1, "Ġthe": 2, "ĊĊ": 3, "ãĢĤ": 4, ".com": 5, '."': 6, "?": 7}
    assert closing_tokens(vocabulary, decode, [0]) == (0, 1, 4, 7, 3, 6)


def test_there_are_no_more_than_an_engine_is_asked_about() -> None:
    vocabulary = {"." + "\n" * length: length for length in range(1000)}
    found = closing_tokens(vocabulary, str, [5000])
    assert len(found) == MAX_CLOSING_TOKENS
    assert found[:3] == (5000, 0, 1)


@given(st.lists(st.floats(-200, 0), min_size=1, max_size=20))
def test_the_sum_is_no_less_than_the_largest_and_never_more_than_certain(values: list[float]) -> None:
    found = summed(values)
    assert found is not None
    assert max(values) <= found <= 0 or found == pytest.approx(max(values))


def test_two_halves_are_certain_and_nothing_is_no_answer() -> None:
    assert summed([math.log(0.5), math.log(0.5)]) == pytest.approx(0)
    assert summed([]) is None
    assert summed([-math.inf]) is None
