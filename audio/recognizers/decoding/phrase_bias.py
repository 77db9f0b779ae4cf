"""Token probabilities from example phrases, to bias recognition towards a domain's vocabulary.

An n-gram model of the phrases, interpolated with absolute discounting (Ney, Essen and Kneser, 1994). A
recognizer adds its logarithms to its own during the search (shallow fusion; Gulcehre et al., 2015). Among
whole transcripts only sentences count that are closer to the phrases than to other talk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from audio.recognizers.decoding.ngrams import Followers, Ngrams

_ORDER = 4
_DISCOUNT = 0.75
_FLOOR = 1e-4
"""Minimum probability: where phrases know nothing, all tokens are equal and other speech is unaffected."""
_JOINING_FLOOR = 0.2
"""The same for words that may follow anything: a caller who pauses after "and" has more to say."""
_OTHER_TALK = -5.5
"""Log-probability of a token that is equally typical of the phrases and of other talk. It is below the means
of questions to the demo and of requests whose wording is not in the phrases, -3.1 and -4.2; other
conversation has -5.5 to -6.5.
"""
_DOUBT = 8.0
"""Minimum advantage of a sentence, in nats, to count at all."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Special tokens.

    Attributes:
        begin: of a text.
        end: of a text.
        commas: optional in the phrases, so they are ignored.
        stops: after a sentence.
        joining: tokens that may follow anything, such as "and", or the end where callers pause.
    """

    begin: int
    end: int
    commas: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()
    joining: frozenset[int] = frozenset()


class PhraseBias:
    """N-gram model of phrases.

    Args:
        phrases: tokens of each, without begin and end marks.
        marks: special tokens.
        size: of the vocabulary.
    """

    def __init__(self, phrases: Iterable[Sequence[int]], marks: Marks, size: int) -> None:
        self._marks = marks
        self._even = 1 / size
        self._ngrams = Ngrams(([*phrase, marks.end] for phrase in phrases), _ORDER, marks.begin, size)

    def logarithms(self, before: Sequence[int], candidates: Sequence[int]) -> list[float]:
        """Return the log-probability of each candidate.

        Commas have probability 1 and do not affect later tokens.

        Args:
            before: preceding tokens, with the begin mark.
            candidates: the tokens to rate.
        """
        said = [token for token in before if token not in self._marks.commas]
        known = list(self._ngrams.following(said))
        return [math.log(max(self._floor(token), self._probability(known, token))) for token in candidates]

    def evidence(self, text: Sequence[int]) -> float:
        """Return how much closer the sentences of a text are to the phrases than to other talk, in nats.

        Only sentences above `_DOUBT` count.

        Args:
            text: tokens, with begin and end marks.
        """
        total = of_sentence = 0.0
        for at, token in enumerate(text[1:], start=1):
            if token in self._marks.commas:
                continue
            of_sentence += self.logarithms(text[max(0, at - 2 * _ORDER) : at], [token])[0] - _OTHER_TALK
            if token in self._marks.stops:
                total, of_sentence = total + max(0.0, of_sentence - _DOUBT), 0.0
        return total + max(0.0, of_sentence - _DOUBT)

    def _floor(self, token: int) -> float:
        if token in self._marks.commas:
            return 1.0
        return _JOINING_FLOOR if token in self._marks.joining else _FLOOR

    def _probability(self, known: list[Followers], token: int) -> float:
        """Return the probability of `token`. known: followers of ever longer contexts."""
        probability = self._even
        for followers in known:
            seen = max(0.0, followers.count(token) - _DISCOUNT)
            probability = (seen + _DISCOUNT * followers.kinds * probability) / followers.total
        return probability
