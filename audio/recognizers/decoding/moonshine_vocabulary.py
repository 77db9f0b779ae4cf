"""Moonshine's vocabulary file, tokenizer.bin, and conversion between tokens and text.

Each token is its length and its bytes; a length from 128 on has two bytes, low seven bits first. A word
begins with U+2581; other bytes are tokens of one byte.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

BEGIN = 1
END = 2
_MARKS = 3  # unknown, begin and end have no text
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}".encode()


def read_vocabulary(data: bytes) -> list[bytes]:
    """Return the tokens by number.

    Raises:
        ValueError: the file ends in the middle of a token.
    """
    tokens: list[bytes] = []
    at = 0
    while at < len(data):
        length = data[at]
        at += 1
        if length >= 128:
            if at == len(data):
                raise ValueError(f"the vocabulary ends in the length of token {len(tokens)}")
            length += 128 * data[at] - 128
            at += 1
        if at + length > len(data):
            raise ValueError(f"the vocabulary ends in the middle of token {len(tokens)}")
        tokens.append(data[at : at + length])
        at += length
    return tokens


def numbers_of(vocabulary: Sequence[bytes]) -> dict[bytes, int]:
    """Return the number of each token that has a text."""
    return {token: number for number, token in enumerate(vocabulary) if number >= _MARKS}


def word_insides(vocabulary: Sequence[bytes]) -> frozenset[int]:
    """Return the tokens that continue a word.

    They begin with a letter or digit, or are a byte of one, without a space before it.
    """
    return frozenset(
        number
        for number, token in enumerate(vocabulary)
        if number >= _MARKS and not token.startswith(_SPACE) and (token[:1] >= b"\x80" or token[:1].isalnum())
    )


def tokens_of(text: str, numbers: Mapping[bytes, int], *, inside: bool = False) -> list[int]:
    """Return the tokens of a text. inside: its first word continues another, without a space.

    Byte pair encoding (Sennrich et al., 2016), word by word: the adjacent pair with the lowest number is
    joined first. Characters without a token are spelled in bytes.
    """
    tokens: list[int] = []
    for number, word in enumerate(text.split()):
        parts = [] if inside and not number else [_SPACE]
        for character in word:
            whole = character.encode()
            parts += [whole] if whole in numbers else [bytes([byte]) for byte in whole]
        while len(parts) > 1:
            pairs = [numbers.get(left + right) for left, right in pairwise(parts)]
            if not any(pairs):
                break
            at = min(range(len(pairs)), key=lambda index: pairs[index] or math.inf)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        tokens += [numbers[part] for part in parts]
    return tokens


def text_of(tokens: Sequence[int], vocabulary: Sequence[bytes]) -> str:
    """Return the words, separated by single spaces."""
    text = b"".join(vocabulary[token] for token in tokens if token >= _MARKS)
    return " ".join(text.replace(_SPACE, b" ").decode(errors="replace").split())
