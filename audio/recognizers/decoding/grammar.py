"""A list of words that a transcript may consist of, in any order: a grammar for digits and for spelling.

A search held to it finds "B, D, P" where a free one finds words that sound alike. Between words there may be
separators, as models write "J. O. H. N." and "J-o-h-n", too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

_Node = dict[int, "_Node"]
_WHOLE = -1
"""Marks the node of a whole word."""


class Grammar:
    """The tokens that may follow each beginning of a transcript.

    Args:
        words: tokens of each word, beginning with a space.
        joined: tokens of each part that follows a word or a separator directly: the letters of "J-o-h-n".
        separators: tokens between words.
        end: token of the end mark.
        one: a text has one word.
    """

    def __init__(
        self,
        words: Iterable[Sequence[int]],
        joined: Iterable[Sequence[int]],
        separators: Iterable[int],
        end: int,
        one: bool = False,
    ) -> None:
        self._words: _Node = {}
        self._joined: _Node = {}
        for node, texts in ((self._words, words), (self._joined, joined)):
            for tokens in texts:
                _add(node, tokens)
        self._separators = frozenset(separators)
        self._end = end
        self._one = one
        known = {end, *self._separators, *_tokens(self._words), *_tokens(self._joined)}
        self.tokens: NDArray[np.int64] = np.array(sorted(known), np.int64)
        """All its tokens; no others are ever allowed."""

    def allows(self, text: Sequence[int]) -> bool:
        """Return True for a whole text, given without its begin mark, that is allowed."""
        return text[-1] == self._end and self._end in self.allowed(text[:-1])

    def allowed(self, text: Sequence[int]) -> frozenset[int]:
        """Return the tokens that may follow a text, given without its begin mark; none if the text itself is
        not allowed. A text has at least one word, and one separator at a time.
        """
        states: list[_Node | None] = [None]  # the node within a word, None between words
        separated = True
        for at, token in enumerate(text):
            following: list[_Node | None] = []
            for node in states:
                if node is not None:
                    following += _ends(node[token]) if token in node else []
                    continue
                if not (at and self._one):
                    following += _ends(self._words[token]) if token in self._words else []
                if at:
                    following += _ends(self._joined[token]) if token in self._joined and not self._one else []
                    following += [None] if token in self._separators and not separated else []
            states, separated = following, token in self._separators
        return self._following(states, bool(text), separated)

    def _following(self, states: Sequence[_Node | None], begun: bool, separated: bool) -> frozenset[int]:
        allowed: set[int] = set()
        for node in states:
            if node is not None:
                allowed |= node.keys() - {_WHOLE}
                continue
            if not (begun and self._one):
                allowed |= self._words.keys()
            if begun:
                allowed |= {self._end} | (set() if separated else self._separators)
                allowed |= set() if self._one else self._joined.keys()
        return frozenset(allowed)


def _add(node: _Node, tokens: Sequence[int]) -> None:
    for token in tokens:
        node = node.setdefault(token, {})
    node[_WHOLE] = {}


def _ends(node: _Node) -> list[_Node | None]:
    """Return the states in a node: within a longer word, after a whole one, or both."""
    inner = [node] if len(node) > (_WHOLE in node) else []
    return [*inner, *([None] if _WHOLE in node else [])]


def _tokens(node: _Node) -> set[int]:
    found = {token for token in node if token != _WHOLE}
    for token in tuple(found):
        found |= _tokens(node[token])
    return found
