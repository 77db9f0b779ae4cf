"""Beam search over the tokens of one piece of sound, narrow where the model is sure. Pure.

A beginning that scores badly now may be the right one, which a greedy choice can't know. Beginnings that are
clearly behind are dropped (threshold pruning; Freitag and Al-Onaizan, "Beam Search Strategies for Neural
Machine Translation", 2017), so that of clear speech mostly one is left, at the price of the greedy choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audio.recognizers.decoding.phrase_bias import PhraseBias

WIDTH = 4
_BEHIND = 4.0  # the best, in natural logarithms, at most
_CANDIDATES = 8  # to follow a beginning; what people are likely to say brings in no other
_FAR_BEHIND = 12.0  # the likeliest token, in logits: only those nearer are sorted, if they are enough
_CLEARLY = 0.3
"""A token is clearly the likeliest where it is so much ahead of the next, in logits: by a third. What follows
soon makes up for less, as the rounding of 8-bit numbers does.
"""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first tokens of what may have been said, the begin mark before them and the end mark behind them
    if it is whole.

    score: the logarithm of its probability, what people are likely to say included. logarithm: without that.
    """

    tokens: tuple[int, ...]
    score: float = 0.0
    logarithm: float = 0.0


class BeamSearch:
    """The best beginnings, `live`, all of the same length: at most WIDTH.

    bias: what people are likely to say; None for nothing. weight: how much that counts.
    """

    def __init__(self, begin: int, end: int, bias: PhraseBias | None = None, weight: float = 0.0) -> None:
        self._end = end
        self._bias = bias
        self._weight = weight
        self._whole: Beginning | None = None
        self.live = [Beginning((begin,))]

    @property
    def best(self) -> Beginning:
        """The best that is whole; as long as there is none, the best beginning."""
        return self._whole or self.live[0]

    def extend(self, logits: NDArray[np.float32]) -> list[int]:
        """Go on by a token, given what the model makes of the next one, [live, vocabulary].

        Returns where in the old `live` the beginning of each of the new was; of none where the best is whole.
        """
        longer = [(one, at) for at, row in enumerate(logits) for one in self._candidates(self.live[at], row)]
        longer.sort(key=lambda pair: pair[0].score, reverse=True)
        min_score = longer[0][0].score - _BEHIND
        kept = [(one, at) for one, at in longer[:WIDTH] if one.score >= min_score]
        whole = [one for one, _ in kept if one.tokens[-1] == self._end]
        if self._whole is not None:
            whole.append(self._whole)
        if whole:  # a longer one's score is never better than that of its beginning
            self._whole = max(whole, key=lambda one: one.score)
            min_score = self._whole.score
        kept = [(one, at) for one, at in kept if one.tokens[-1] != self._end and one.score >= min_score]
        self.live = [one for one, _ in kept]
        return [at for _, at in kept]

    def _candidates(self, beginning: Beginning, logits: NDArray[np.float32]) -> list[Beginning]:
        highest = logits.max()
        likely = _likeliest(logits, highest)
        logarithms = logits[likely] - highest - np.log(np.exp(logits - highest).sum())
        return [
            Beginning(
                (*beginning.tokens, int(token)),
                beginning.score + float(logarithm) + self._weight * expected,
                beginning.logarithm + float(logarithm),
            )
            for token, logarithm, expected in zip(
                likely, logarithms, self._expected(beginning.tokens, likely.tolist()), strict=True
            )
        ]

    def _expected(self, before: Sequence[int], candidates: list[int]) -> list[float]:
        if self._bias is None:
            return [0.0] * len(candidates)
        return self._bias.logarithms(before, candidates)


def _likeliest(logits: NDArray[np.float32], highest: np.float32) -> NDArray[np.intp]:
    """The tokens with the highest logits, [`_CANDIDATES`] in no order. highest: that of all."""
    near = np.flatnonzero(logits >= highest - np.float32(_FAR_BEHIND))
    if len(near) < _CANDIDATES:
        near = np.arange(len(logits))
    count = min(_CANDIDATES, len(near))
    return near[np.argpartition(logits[near], -count)[-count:]]


def told_again(tokens: Sequence[int], logits: NDArray[np.float32]) -> float | None:
    """The logarithm of the probability of `tokens`, which were told of less of the sound, where each is still
    clearly the likeliest; else None, and they are to be searched for.

    logits: what the model makes of each of them, given those before it, [tokens, vocabulary].
    """
    places = np.arange(len(tokens))
    told = logits[places, tokens]
    others = logits.copy()
    others[places, tokens] = -np.inf
    if (told < others.max(axis=1) + _CLEARLY).any():
        return None
    return float(-np.log(np.exp(logits - told[:, np.newaxis]).sum(axis=1)).sum())
