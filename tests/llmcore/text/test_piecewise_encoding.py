from __future__ import annotations

import pytest
import tiny_llama
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from llmcore.text.chat_tokens import MAX_CHARACTERS, PiecewiseEncoder

TOKENIZER = tiny_llama.build_tokenizer()
SPECIAL = [tiny_llama.SYSTEM, tiny_llama.USER, tiny_llama.ASSISTANT, tiny_llama.END]
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Co")), max_size=20)


class Counting:
    """Encodes, and records its inputs."""

    def __init__(self, tokenizer: Tokenizer = TOKENIZER) -> None:
        self.asked: list[str] = []
        self._tokenizer = tokenizer

    def __call__(self, text: str) -> list[int]:
        self.asked.append(text)
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids


def metaspace() -> Tokenizer:
    """A tokenizer that takes the beginning of a text for the beginning of a word."""
    letters = "▁abcdefghijklmnopqrstuvwxyzéHñ日, ',.0123456789\n"
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(letters)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken("<|end|>", normalized=False)])
    return tokenizer


@given(pieces=st.lists(st.tuples(TEXT, st.sampled_from([*SPECIAL, ""])), max_size=6))
def test_tokens_are_those_of_the_whole_text(pieces: list[tuple[str, str]]) -> None:
    text = "".join(text + special for text, special in pieces)
    assert PiecewiseEncoder(Counting(), SPECIAL)(text) == Counting()(text)


def test_what_was_encoded_before_is_not_encoded_again() -> None:
    encode = Counting()
    encoder = PiecewiseEncoder(encode, SPECIAL)
    history = f"{tiny_llama.SYSTEM}You keep the lighthouse.{tiny_llama.END}{tiny_llama.USER}"
    encoder(history + "Is there")
    encode.asked.clear()
    encoder(history + "Is there a ship?")
    assert encode.asked == ["Is there a ship?"]


def test_a_tokenizer_that_does_not_part_there_is_given_the_whole_text() -> None:
    encode = Counting(metaspace())
    encoder = PiecewiseEncoder(encode, ["<|end|>"])
    text = "hello<|end|>is there a ship<|end|>"
    tokens = encoder(text)
    assert encode.asked[-1] == text
    assert tokens == Counting(metaspace())(text)


def test_without_special_tokens_it_encodes_the_whole_text() -> None:
    encode = Counting()
    assert PiecewiseEncoder(encode, [])("Is there a ship?") == Counting()("Is there a ship?")
    assert encode.asked == ["Is there a ship?"]


@pytest.mark.parametrize(
    ("length", "times"), [(MAX_CHARACTERS - len(tiny_llama.END), 1), (MAX_CHARACTERS, 2)]
)
def test_a_very_long_piece_is_not_kept(length: int, times: int) -> None:
    encode = Counting()
    encoder = PiecewiseEncoder(encode, SPECIAL)
    encode.asked.clear()
    for _ in range(2):
        encoder("a" * length + tiny_llama.END)
    assert sum(len(text) > 10 for text in encode.asked) == times
