from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audio.recognizers.decoding.moonshine_vocabulary import numbers_of, read_vocabulary, text_of, tokens_of


def written(tokens: list[bytes]) -> bytes:
    data = b""
    for token in tokens:
        low, high = len(token) % 128, len(token) // 128
        data += bytes([low + 128, high] if high else [low]) + token
    return data


@given(st.lists(st.binary(max_size=400)))
def test_what_is_written_is_read(tokens: list[bytes]) -> None:
    assert read_vocabulary(written(tokens)) == tokens


@given(st.lists(st.binary(min_size=1, max_size=200), min_size=1), st.data())
def test_a_file_that_was_cut_short_is_refused(tokens: list[bytes], data: st.DataObject) -> None:
    whole = written(tokens)
    last = len(written(tokens[-1:]))
    cut = data.draw(st.integers(len(whole) - last + 1, len(whole) - 1))
    with pytest.raises(ValueError, match=f"token {len(tokens) - 1}"):
        read_vocabulary(whole[:cut])


def test_words_are_put_together_from_pieces_and_bytes() -> None:
    vocabulary = [b"<unk>", b"<s>", b"</s>", "▁caf".encode(), b"\xc3", b"\xa9", "▁is".encode(), b"n't", b"."]
    assert text_of([1, 3, 4, 5, 6, 7, 8, 2], vocabulary) == "café isn't."


VOCABULARY = [
    b"<unk>", b"<s>", b"</s>", *(bytes([byte]) for byte in range(256)),
    "▁".encode(), *(letter.encode() for letter in "aehlorw"),
    b"he", "▁he".encode(), b"ll", b"llo", "▁hello".encode(), b"or",
]  # fmt: skip


def test_neighbours_are_joined_in_the_order_of_the_vocabulary() -> None:
    numbers = numbers_of(VOCABULARY)
    tokens = tokens_of("hello work", numbers)
    assert [VOCABULARY[token].decode() for token in tokens] == ["▁hello", "▁", "w", "or", "k"]


@given(st.text(st.characters(exclude_categories=["Z", "C"], exclude_characters="▁"), max_size=20))
def test_the_tokens_of_a_text_read_as_that_text(text: str) -> None:
    assert text_of(tokens_of(text, numbers_of(VOCABULARY)), VOCABULARY) == " ".join(text.split())
