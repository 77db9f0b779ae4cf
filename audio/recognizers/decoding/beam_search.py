"""Beam search over the tokens of one piece of audio, narrow where the model is sure.

A beginning that scores badly now may be the right one, which greedy search cannot know. Beginnings clearly
behind are dropped (threshold pruning; Freitag and Al-Onaizan, "Beam Search Strategies for Neural Machine
Translation", 2017), so for clear speech mostly one is left, at the cost of greedy search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from audio.recognizers.decoding.grammar import Grammar
from audio.recognizers.decoding.names import Names
from audio.recognizers.decoding.phrase_bias import PhraseBias
from audio.recognizers.decoding.spelling_prior import SpellingPrior

WIDTH = 4
WIDTH_EXPECTING, _MAX_DISTANCE_EXPECTING = 5, 3.0
"""With likely phrases: they decide among whole texts, of which a wider beam finds more, at hardly more cost,
as texts far behind are dropped sooner.
"""
WIDTH_HELD, _MAX_DISTANCE_HELD = 8, 8.0
_TOKEN_HELD = 0.75
"""With a grammar. The last is the score of a token, in nats."""
_MAX_DISTANCE = 4.0  # maximum distance from the best, in nats
CLEAR_LEAD = 0.3
"""Lead over the next candidate, in nats, with which a token is clearly the most likely: by a third. Smaller
leads are often reversed by the following tokens, or by the rounding of 8-bit numbers.
"""
_GUIDE = 0.4
"""Share of the sentences' weight that guides the search, token by token."""
_NAME_TOKEN = 20.0
"""Score of each token of a name, times the weight, in nats."""
_NEAR = 1.0
"""Maximum distance from the best, in nats, at which likely sentences may select a whole text."""


class Likeliest(NamedTuple):
    """Candidate tokens after several texts, most likely first. No other tokens are considered, not even
    likely phrases.

    Attributes:
        tokens: [..., n].
        logarithms: logarithms of their probabilities, [..., n].
    """

    tokens: NDArray[np.int64]
    logarithms: NDArray[np.float32]

    def of_text(self, number: int) -> Likeliest:
        """Return the candidates after each token of one of the texts."""
        return Likeliest(self.tokens[number], self.logarithms[number])

    def of_first(self, tokens: int) -> Likeliest:
        """Return the candidates for the first `tokens` tokens of a single text."""
        return Likeliest(self.tokens[:tokens], self.logarithms[:tokens])

    def at(self, place: int) -> Likeliest:
        """Return the candidates after one token of a single text, as [1, n]."""
        return Likeliest(self.tokens[place : place + 1], self.logarithms[place : place + 1])

    def after_last(self) -> Likeliest:
        """Return the candidates after the last token of each text, [texts, n]."""
        return Likeliest(self.tokens[:, -1], self.logarithms[:, -1])


@dataclass(frozen=True, slots=True)
class Expected:
    """Phrases that callers are likely to say. weight: 0 or more."""

    weight: float
    sentences: PhraseBias | None = None
    names: Names | None = None


@dataclass(frozen=True, slots=True)
class Beginning:
    """First tokens of a possible transcript, with the begin mark, and the end mark if it is whole.

    Attributes:
        tokens: the tokens.
        score: log-probability plus the weight of likely phrases; the search goes by this.
        logarithm: log-probability.
        of_sentences: log-probability among likely sentences.
    """

    tokens: tuple[int, ...]
    score: float = 0.0
    logarithm: float = 0.0
    of_sentences: float = 0.0


class BeamSearch:
    """The best beginnings, `live`, all of one length: at most WIDTH, or WIDTH_EXPECTING.

    Args:
        begin: token of the begin mark.
        end: token of the end mark.
        expected: likely phrases; None for none.
        grammar: the search finds only texts that it allows; None for any.
        prior: with a grammar, rates texts in addition to their sound.
        allow_empty: False if a text has at least one token. An empty text costs one token only, and often
            wins wrongly (Stahlberg and Byrne, "On NMT Search Errors and Model Errors: Cat Got Your Tongue?",
            2019): Moonshine base rates it as likely as "No." for a caller who says that.
    """

    def __init__(
        self,
        begin: int,
        end: int,
        expected: Expected | None = None,
        grammar: Grammar | None = None,
        prior: SpellingPrior | None = None,
        allow_empty: bool = True,
    ) -> None:
        self._end = end
        self._allow_empty = allow_empty
        self._grammar = grammar
        self._prior = prior
        self._sentences = None if expected is None else expected.sentences
        self._names = None if expected is None else expected.names
        self._weight = 0.0 if expected is None else expected.weight
        self._width, self._max_distance, self._near = WIDTH, _MAX_DISTANCE, 0.0
        if expected is not None:
            self._width, self._max_distance, self._near = WIDTH_EXPECTING, _MAX_DISTANCE_EXPECTING, _NEAR
        if grammar is not None:  # its likeliest text may begin unlikely
            self._width, self._max_distance = WIDTH_HELD, _MAX_DISTANCE_HELD
        self._whole: list[Beginning] = []
        self.live = [Beginning((begin,))]

    @property
    def best(self) -> Beginning:
        """The best whole transcript; until there is one, the best beginning."""
        return max(self._whole, key=self._final_score) if self._whole else self.live[0]

    def extend(self, likeliest: Likeliest) -> list[int]:
        """Extend the beginnings by a token.

        Args:
            likeliest: candidates after each, [live, n].

        Returns:
            For each new beginning, the index of the old one it extends; empty once the best is whole.
        """
        rows = zip(self.live, likeliest.tokens.tolist(), likeliest.logarithms.tolist(), strict=True)
        longer = [
            (one, at)
            for at, (beginning, tokens, logarithms) in enumerate(rows)
            for one in self._candidates(beginning, tokens, logarithms)
        ]
        if not longer:
            self.live = []
            return []
        longer.sort(key=lambda pair: pair[0].score, reverse=True)
        min_score = longer[0][0].score - self._max_distance
        kept = [(one, at) for one, at in longer[: self._width] if one.score >= min_score]
        self._whole += [one for one, _ in kept if one.tokens[-1] == self._end]
        if self._whole and self._grammar is None:  # extending a beginning hardly ever improves its score
            min_score = max(one.score for one in self._whole) - self._near
        kept = [(one, at) for one, at in kept if one.tokens[-1] != self._end and one.score >= min_score]
        self.live = [one for one, _ in kept]
        return [at for _, at in kept]

    def follow(self, draft: Sequence[int], likeliest: Likeliest, lead: float = CLEAR_LEAD) -> int:
        """Accept the leading tokens of a draft without a search.

        The draft comes from a decoding of less audio. If the end is accepted, the best is whole.

        Args:
            draft: its tokens.
            likeliest: candidates at each of the tokens, [draft, n].
            lead: minimum lead over the best other candidate, in nats.

        Returns:
            The number of tokens accepted.
        """
        accepted = _accepted_logarithms(draft, likeliest, lead)
        (beginning,) = self.live
        for token, logarithm in zip(draft, accepted, strict=False):
            (beginning,) = self._candidates(beginning, [token], [logarithm])
        whole = beginning.tokens[-1] == self._end
        self._whole, self.live = ([beginning], []) if whole else ([], [beginning])
        return len(accepted)

    def _candidates(
        self, beginning: Beginning, tokens: list[int], logarithms: list[float]
    ) -> list[Beginning]:
        if self._grammar is not None:
            tokens, logarithms = _near_allowed(
                self._grammar.allowed(beginning.tokens[1:]), tokens, logarithms, self._max_distance
            )
        if not self._allow_empty and len(beginning.tokens) == 1:
            tokens, logarithms = _without(self._end, tokens, logarithms)
        expected = [0.0] * len(tokens)
        if self._sentences is not None:
            expected = self._sentences.logarithms(beginning.tokens, tokens)
        return [
            self._extended(beginning, token, logarithm, of_sentences)
            for token, logarithm, of_sentences in zip(tokens, logarithms, expected, strict=True)
        ]

    def _extended(self, beginning: Beginning, token: int, logarithm: float, of_sentences: float) -> Beginning:
        tokens = (*beginning.tokens, token)
        logarithm += beginning.logarithm
        of_sentences += beginning.of_sentences
        score = logarithm + self._weight * (_GUIDE * of_sentences + self._name_score(tokens))
        if self._prior is not None:
            score += self._prior.rate(tokens)
        return Beginning(tokens, score, logarithm, of_sentences)

    def _final_score(self, whole: Beginning) -> float:
        """Return the score among whole texts; likely sentences count only if the text is near them.

        With a grammar each token counts for itself, too: otherwise one wrong word would win over many right
        ones, as each of these costs something.
        """
        if self._grammar is not None:
            of_prior = 0.0 if self._prior is None else self._prior.rate(whole.tokens)
            return whole.logarithm + of_prior + _TOKEN_HELD * len(whole.tokens)
        evidence = 0.0 if self._sentences is None else self._sentences.evidence(whole.tokens)
        return whole.logarithm + self._weight * (evidence + self._name_score(whole.tokens))

    def _name_score(self, tokens: Sequence[int]) -> float:
        return 0.0 if self._names is None else _NAME_TOKEN * self._names.tokens_in(tokens)


def _near_allowed(
    allowed: frozenset[int], tokens: Sequence[int], logarithms: Sequence[float], distance: float
) -> tuple[list[int], list[float]]:
    """Return the allowed tokens, and their logarithms, that are within a distance of the likeliest one."""
    both = [pair for pair in zip(tokens, logarithms, strict=True) if pair[0] in allowed]
    minimum = max((logarithm for _, logarithm in both), default=0.0) - distance
    near = [pair for pair in both if pair[1] >= minimum]
    return [token for token, _ in near], [logarithm for _, logarithm in near]


def _without(token: int, tokens: Sequence[int], logarithms: Sequence[float]) -> tuple[list[int], list[float]]:
    others = [pair for pair in zip(tokens, logarithms, strict=True) if pair[0] != token]
    return [other for other, _ in others], [logarithm for _, logarithm in others]


def _accepted_logarithms(tokens: Sequence[int], likeliest: Likeliest, lead: float) -> list[float]:
    """Return the log-probabilities of the leading tokens that are ahead of any other by `lead`."""
    accepted = []
    rows = zip(tokens, likeliest.tokens.tolist(), likeliest.logarithms.tolist(), strict=True)
    for token, among, logarithms in rows:
        if token not in among:
            break
        place = among.index(token)
        if logarithms[place] < logarithms[place == 0] + lead:
            break
        accepted.append(logarithms[place])
    return accepted
