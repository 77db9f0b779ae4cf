"""What callers are likely to say, as probabilities of tokens: an ear for a trade's own words. Pure.

An n-gram model of example phrases, interpolated with absolute discounting (Ney, Essen and Kneser, 1994). A
recognizer adds its logarithms to its own while it searches (shallow fusion; Gulcehre et al., 2015). Among
what it has found only sentences count that are as a whole nearer to the phrases than to other talk.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from audio.recognizers.decoding.ngrams import Followers, Ngrams

_ORDER = 4
_DISCOUNT = 0.75
_FLOOR = 1e-4
"""Where the phrases say nothing, all tokens count alike: speech about other things is heard as before."""
_JOINING_FLOOR = 0.2
"""The same for words that may follow anything: whoever pauses behind "and" has more to say, and no phrase is
to hide that."""
_OTHER_TALK = -5.5
"""The logarithm of a token of which the phrases say as much as of other talk. Below the means of
questions to the demo and of requests to it that its phrases have not, -3.1 and -4.2; of people who talk of
other things they are -5.5 to -6.5.
"""
_DOUBT = 8.0
"""How much nearer to the phrases a sentence must be to count at all, in natural logarithms."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Tokens that are no words. begin, end: of a text. commas: what the phrases may lack, and so say nothing
    of. stops: behind a sentence. joining: what may follow anything, words such as "and", or the end where
    people pause.
    """

    begin: int
    end: int
    commas: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()
    joining: frozenset[int] = frozenset()


class PhraseBias:
    """Counts the tokens of `phrases`, each without its begin and end marks, of a vocabulary of `size`."""

    def __init__(self, phrases: Iterable[Sequence[int]], marks: Marks, size: int) -> None:
        self._marks = marks
        self._even = 1 / size
        self._ngrams = Ngrams(([*phrase, marks.end] for phrase in phrases), _ORDER, marks.begin, size)

    def logarithms(self, before: Sequence[int], candidates: Sequence[int]) -> list[float]:
        """How likely each of the candidates is after the tokens `before`, begin mark included; natural
        logarithms. Commas are as likely as can be, and change nothing of what follows them."""
        said = [token for token in before if token not in self._marks.commas]
        known = list(self._ngrams.following(said))
        return [math.log(max(self._floor(token), self._probability(known, token))) for token in candidates]

    def evidence(self, text: Sequence[int]) -> float:
        """How much nearer to the phrases than to other talk the sentences of a text are, begin and end marks
        included, in natural logarithms. Only sentences for which that is beyond doubt count.
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
        """`known`: what follows ever longer contexts."""
        probability = self._even
        for followers in known:
            seen = max(0.0, followers.count(token) - _DISCOUNT)
            probability = (seen + _DISCOUNT * followers.kinds * probability) / followers.total
        return probability
