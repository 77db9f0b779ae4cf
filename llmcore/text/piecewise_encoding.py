"""Tokens of a text that begins as others did: encoded between special tokens, and each piece only once. Pure.

A prompt is encoded many times: while its caller speaks, and for the reply, each time with the whole history
before it. A tokenizer never joins what stands before a special token with what stands behind it, so messages
can be encoded one by one; only the newest one is new. Where a tokenizer is of another kind, all is encoded.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import zip_longest

Encode = Callable[[str], list[int]]

KEPT = 2048
"""Pieces that are remembered; beyond that the one that was not wanted for the longest time goes."""
MAX_CHARACTERS = 16_384
"""Characters of a piece that is remembered: `KEPT` of them take no more than some 64 MB."""
_AROUND = (("Hello there", " and more."), ("a\n", "\nb"), ("", "user\nHi"), ("1 ", "  2"), ("don't", "é日x"))
"""What may stand before and behind a special token."""


class PiecewiseEncoder:
    """Encodes as `encode` does, which is asked for what is new only.

    special_tokens: texts that are one token each; those at which `encode` does not part are left out.
    """

    def __init__(self, encode: Encode, special_tokens: Iterable[str]) -> None:
        self._encode = encode
        parting = [token for token in special_tokens if token and _parts(encode, token)]
        # the longest first: one may be the beginning of another
        names = "|".join(re.escape(token) for token in sorted(parting, key=len, reverse=True))
        self._parting = re.compile(f"({names})") if parting else None

        @lru_cache(KEPT)
        def encode_piece(piece: str) -> array[int]:
            return array("L", encode(piece))

        self._encode_piece = encode_piece

    def __call__(self, text: str) -> list[int]:
        """The tokens of a text. Thread-safe where `encode` is."""
        if self._parting is None:
            return self._encode(text)
        tokens: list[int] = []
        between = self._parting.split(text)  # text, a special token, text, ...
        for piece in map("".join, zip_longest(between[::2], between[1::2], fillvalue="")):
            tokens += self._encode_piece(piece) if len(piece) <= MAX_CHARACTERS else self._encode(piece)
        return tokens


def _parts(encode: Encode, token: str) -> bool:
    """Whether what stands before and behind a special token is encoded as it is alone."""
    return all(
        encode(before + token + behind) == encode(before + token) + encode(behind)
        for before, behind in _AROUND
    )
