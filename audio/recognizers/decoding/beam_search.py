"""Beam search over the tokens of one piece of sound, narrow where the model is sure. Pure.

A beginning that scores badly now may be the right one, which a greedy choice can't know. Beginnings that are
clearly behind are dropped (threshold pruning; Freitag and Al-Onaizan, "Beam Search Strategies for Neural
Machine Translation", 2017), so that of clear speech mostly one is left, at the price of the greedy choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audio.recognizers.decoding.names import Names
from audio.recognizers.decoding.phrase_bias import PhraseBias

WIDTH = 4
WIDTH_EXPECTING, _BEHIND_EXPECTING = 5, 3.0
"""Where something is likely to be said: that decides among whole texts, of which more are found so, and at
hardly more cost as those far behind are dropped sooner.
"""
_BEHIND = 4.0  # the best, in natural logarithms, at most
CLEAR_LEAD = 0.3
"""So far ahead of the next a token is clearly the likeliest, in natural logarithms: by a third. What follows
soon makes up for less, as the rounding of 8-bit numbers does.
"""
_GUIDE = 0.4
"""The part of the weight of likely sentences that leads the search, token by token."""
_NAME_TOKEN = 20.0
"""What each token of a name adds to the score, times the weight, in natural logarithms."""
_NEAR = 1.0
"""How far behind the best, in natural logarithms, likely sentences may choose a whole text."""


class Likeliest(NamedTuple):
    """The tokens that a model finds likeliest to follow some texts, the likeliest first. No others are
    considered, not even those that people are likely to say. tokens, and the logarithms of their
    probabilities: [..., n].
    """

    tokens: NDArray[np.int64]
    logarithms: NDArray[np.float32]

    def of_text(self, number: int) -> Likeliest:
        """What follows each token of one of the texts."""
        return Likeliest(self.tokens[number], self.logarithms[number])

    def of_first(self, tokens: int) -> Likeliest:
        """What follows those beginnings of a single text that are followed by so many of its tokens."""
        return Likeliest(self.tokens[:tokens], self.logarithms[:tokens])

    def at(self, place: int) -> Likeliest:
        """What follows the token of a single text at a place, as [1, n]."""
        return Likeliest(self.tokens[place : place + 1], self.logarithms[place : place + 1])

    def behind_last(self) -> Likeliest:
        """What follows the last token of each text, [texts, n]."""
        return Likeliest(self.tokens[:, -1], self.logarithms[:, -1])


@dataclass(frozen=True, slots=True)
class Expected:
    """What people are likely to say. weight: how much that counts; 0 or more."""

    weight: float
    sentences: PhraseBias | None = None
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first tokens of what may have been said, the begin mark before them and the end mark behind them
    if it is whole.

    score: what the search goes by: the logarithm of its probability, and how likely people are to say it.
    logarithm: without that. of_sentences: the logarithm of its probability among likely sentences.
    """

    tokens: tuple[int, ...]
    score: float = 0.0
    logarithm: float = 0.0
    of_sentences: float = 0.0


class BeamSearch:
    """The best beginnings, `live`, all of the same length: at most WIDTH, or WIDTH_EXPECTING.

    expected: None for nothing.
    """

    def __init__(self, begin: int, end: int, expected: Expected | None = None) -> None:
        self._end = end
        self._sentences = None if expected is None else expected.sentences
        self._names = None if expected is None else expected.names
        self._weight = 0.0 if expected is None else expected.weight
        self._width, self._behind, self._near = WIDTH, _BEHIND, 0.0
        if expected is not None:
            self._width, self._behind, self._near = WIDTH_EXPECTING, _BEHIND_EXPECTING, _NEAR
        self._whole: list[Beginning] = []
        self.live = [Beginning((begin,))]

    @property
    def best(self) -> Beginning:
        """The best that is whole; as long as there is none, the best beginning."""
        return max(self._whole, key=self._worth) if self._whole else self.live[0]

    def extend(self, likeliest: Likeliest) -> list[int]:
        """Go on by a token, given what is likeliest to follow each, [live, n].

        Returns where in the old `live` the beginning of each of the new was; of none where the best is whole.
        """
        told = zip(self.live, likeliest.tokens.tolist(), likeliest.logarithms.tolist(), strict=True)
        longer = [
            (one, at)
            for at, (beginning, tokens, logarithms) in enumerate(told)
            for one in self._candidates(beginning, tokens, logarithms)
        ]
        longer.sort(key=lambda pair: pair[0].score, reverse=True)
        min_score = longer[0][0].score - self._behind
        kept = [(one, at) for one, at in longer[: self._width] if one.score >= min_score]
        self._whole += [one for one, _ in kept if one.tokens[-1] == self._end]
        if self._whole:  # a longer one's score is hardly ever better than that of its beginning
            min_score = max(one.score for one in self._whole) - self._near
        kept = [(one, at) for one, at in kept if one.tokens[-1] != self._end and one.score >= min_score]
        self.live = [one for one, _ in kept]
        return [at for _, at in kept]

    def follow(self, draft: Sequence[int], likeliest: Likeliest, lead: float = CLEAR_LEAD) -> int:
        """Begin with the tokens of a draft, told of less of the sound, as far as each is ahead of the
        likeliest other one by `lead`, in natural logarithms: there nothing is searched for. Returns how many
        that are; where the end is among them, the best is whole.

        likeliest: to follow what is before each of the tokens, [draft, n].
        """
        believed = _believed(draft, likeliest, lead)
        (beginning,) = self.live
        for token, logarithm in zip(draft, believed, strict=False):
            (beginning,) = self._candidates(beginning, [token], [logarithm])
        whole = beginning.tokens[-1] == self._end
        self._whole, self.live = ([beginning], []) if whole else ([], [beginning])
        return len(believed)

    def _candidates(
        self, beginning: Beginning, tokens: list[int], logarithms: list[float]
    ) -> list[Beginning]:
        expected = [0.0] * len(tokens)
        if self._sentences is not None:
            expected = self._sentences.logarithms(beginning.tokens, tokens)
        return [
            self._longer(beginning, token, logarithm, of_sentences)
            for token, logarithm, of_sentences in zip(tokens, logarithms, expected, strict=True)
        ]

    def _longer(self, beginning: Beginning, token: int, logarithm: float, of_sentences: float) -> Beginning:
        tokens = (*beginning.tokens, token)
        logarithm += beginning.logarithm
        of_sentences += beginning.of_sentences
        score = logarithm + self._weight * (_GUIDE * of_sentences + self._of_names(tokens))
        return Beginning(tokens, score, logarithm, of_sentences)

    def _worth(self, whole: Beginning) -> float:
        """What decides among whole texts; likely sentences count only where the text is near to them."""
        evidence = 0.0 if self._sentences is None else self._sentences.evidence(whole.tokens)
        return whole.logarithm + self._weight * (evidence + self._of_names(whole.tokens))

    def _of_names(self, tokens: Sequence[int]) -> float:
        return 0.0 if self._names is None else _NAME_TOKEN * self._names.tokens_in(tokens)


def _believed(tokens: Sequence[int], likeliest: Likeliest, lead: float) -> list[float]:
    """The logarithms of the tokens, from the first on, that are ahead of the likeliest other by `lead`."""
    believed = []
    rows = zip(tokens, likeliest.tokens.tolist(), likeliest.logarithms.tolist(), strict=True)
    for token, among, logarithms in rows:
        if token not in among:
            break
        place = among.index(token)
        if logarithms[place] < logarithms[place == 0] + lead:
            break
        believed.append(logarithms[place])
    return believed
