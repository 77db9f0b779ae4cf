"""Incremental tokenization: text is encoded piece by piece between special tokens, and pieces are cached.

A prompt is encoded many times, while its caller speaks and for the reply, each time with the whole history. A
tokenizer never merges text across a special token, so messages can be encoded one by one, and only the newest
is new. For a tokenizer that does merge, the whole text is encoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import zip_longest

Encode = Callable[[str], list[int]]

MAX_PIECES = 2048
"""Cached pieces; the least recently used is dropped beyond that."""
MAX_CHARACTERS = 16_384
"""Longest cached piece in characters: `MAX_PIECES` of them take at most about 64 MB."""
_CONTEXTS = (
    ("Hello there", " and more."),
    ("a\n", "\nb"),
    ("", "user\nHi"),
    ("1 ", "  2"),
    ("don't", "é日x"),
)
"""Test texts before and after a special token."""


class PiecewiseEncoder:
    """A cached equivalent of `encode`.

    special_tokens: texts that are one token each; those across which `encode` merges text are ignored.
    """

    def __init__(self, encode: Encode, special_tokens: Iterable[str]) -> None:
        self._encode = encode
        separators = [token for token in special_tokens if token and _splits_text(encode, token)]
        # longest first, as one token may begin another
        names = "|".join(re.escape(token) for token in sorted(separators, key=len, reverse=True))
        self._separators = re.compile(f"({names})") if separators else None

        @lru_cache(MAX_PIECES)
        def encode_piece(piece: str) -> array[int]:
            return array("L", encode(piece))

        self._encode_piece = encode_piece

    def __call__(self, text: str) -> list[int]:
        """Return the tokens of a text. Thread-safe if `encode` is."""
        if self._separators is None:
            return self._encode(text)
        tokens: list[int] = []
        between = self._separators.split(text)  # text, a special token, text, ...
        for piece in map("".join, zip_longest(between[::2], between[1::2], fillvalue="")):
            tokens += self._encode_piece(piece) if len(piece) <= MAX_CHARACTERS else self._encode(piece)
        return tokens


def _splits_text(encode: Encode, token: str) -> bool:
    """Return True if `encode` treats the text before and after this token independently."""
    return all(
        encode(before + token + after) == encode(before + token) + encode(after)
        for before, after in _CONTEXTS
    )
