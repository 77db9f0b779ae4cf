"""Lists of words that a transcript may consist of: grammars for digits, for spelling and for addresses.

A search held to one finds "B, D, P" where a free one finds words that sound alike. Between words there may be
separators, as models write "J. O. H. N." and "J-o-h-n", too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_Node = dict[int, "_Node"]
_WHOLE = -1
"""Marks the node of a whole word."""
_REMEMBERED = 256
"""Beginnings of texts whose states are kept: a search extends each by one token at a time."""


@dataclass(frozen=True, slots=True)
class _State:
    """A place in a text. part: its index. node: within a word, None between words. begun: the part has a
    word. leading: the word leads to the next part.
    """

    part: int
    node: _Node | None = None
    begun: bool = False
    leading: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a text: words in any order, at least one.

    words: tokens of each word, beginning with a space. joined: tokens of each word that follows a word or a
    separator directly: the letters of "J-o-h-n". leading: tokens of each phrase that begins the next part;
    () for the last part, after which the text may end.
    """

    words: Iterable[Sequence[int]]
    joined: Iterable[Sequence[int]] = ()
    leading: Iterable[Sequence[int]] = ()


class Grammar:
    """The tokens that may follow each beginning of a transcript.

    Args:
        parts: the text's parts, one after the other.
        separators: tokens between words.
        end: token of the end mark.
        one: allow texts of one word only.
    """

    def __init__(self, parts: Sequence[Part], separators: Iterable[int], end: int, one: bool = False) -> None:
        self._words = [_trie(part.words) for part in parts]
        self._joined = [_trie(part.joined) for part in parts]
        self._leading = [_trie(part.leading) for part in parts]
        self._separators = frozenset(separators)
        self._end = end
        self._one = one
        self._states = lru_cache(_REMEMBERED)(self._states_after)
        known = {end, *self._separators}
        for trie in (*self._words, *self._joined, *self._leading):
            known |= _tokens(trie)
        self.tokens: NDArray[np.int64] = np.array(sorted(known), np.int64)
        """All its tokens; no others are ever allowed."""

    def allows(self, text: Sequence[int]) -> bool:
        """Return True for a whole text, given without its begin mark, that is allowed."""
        return text[-1] == self._end and self._end in self.allowed(text[:-1])

    def allowed(self, text: Sequence[int]) -> frozenset[int]:
        """Return the tokens that may follow a text, given without its begin mark; none if the text itself is
        not allowed. Two separators never follow each other.
        """
        separated = not text or text[-1] in self._separators
        allowed: set[int] = set()
        for state in self._states(tuple(text)):
            if state.node is not None:
                allowed |= state.node.keys() - {_WHOLE}
                continue
            for trie in self._tries(state, bool(text)):
                allowed |= trie.keys()
            if text and not separated:
                allowed |= self._separators
            if state.begun and state.part == len(self._words) - 1:
                allowed.add(self._end)
        return frozenset(allowed)

    def _states_after(self, text: tuple[int, ...]) -> list[_State]:
        """Return the possible states after a text."""
        if not text:
            return [_State(0)]
        *before, token = text
        separated = not before or before[-1] in self._separators
        states = self._states(tuple(before))
        return [new for state in states for new in self._after(state, token, bool(before), separated)]

    def _after(self, state: _State, token: int, begun: bool, separated: bool) -> list[_State]:
        """Return the states after one more token. begun: the text has tokens before it."""
        if state.node is not None:
            return self._ends(state, state.node[token]) if token in state.node else []
        after = [
            end
            for number, trie in enumerate(self._tries(state, begun))
            if token in trie
            for end in self._ends(replace(state, leading=number == 2), trie[token])
        ]
        if begun and token in self._separators and not separated:
            after.append(state)
        return after

    def _tries(self, state: _State, begun: bool) -> tuple[_Node, _Node, _Node]:
        """Return the words, joined and leading ones, that may begin in a state between words."""
        done = self._one and state.begun
        return (
            {} if done else self._words[state.part],
            self._joined[state.part] if begun and not done else {},
            self._leading[state.part] if state.begun else {},
        )

    def _ends(self, state: _State, node: _Node) -> list[_State]:
        """Return the states in a node: within a longer word, after a whole one, or both."""
        inner = [replace(state, node=node)] if len(node) > (_WHOLE in node) else []
        whole = _State(state.part + 1) if state.leading else _State(state.part, begun=True)
        return [*inner, *([whole] if _WHOLE in node else [])]


def _trie(texts: Iterable[Sequence[int]]) -> _Node:
    root: _Node = {}
    for tokens in texts:
        node = root
        for token in tokens:
            node = node.setdefault(token, {})
        node[_WHOLE] = {}
    return root


def _tokens(node: _Node) -> set[int]:
    found = {token for token in node if token != _WHOLE}
    for token in tuple(found):
        found |= _tokens(node[token])
    return found
