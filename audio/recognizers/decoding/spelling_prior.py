"""Rating of transcripts of spelling: by letters, said alone or as words of an alphabet, and by words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from audio.recognizers.decoding.letter_prior import END, LetterPrior

_REMEMBERED = 1024
_WEIGHT = 0.7
"""Weight of the prior beside the sound."""
_LIKELY_WORD, _LIKELY_NAME = 2.0, 3.0
"""Scores of a likely word that is said, and of one that is spelled, in nats."""
_REPEATED_SIGN = 4.0
"""Cost of a sign that follows another, in nats: a search that is lost repeats "dot"."""
_WORD = re.compile(r"[a-z]+(?:-ray)?|\d")
_SIGNS = frozenset(("dot", "at", "dash", "hyphen", "underscore", "plus"))


class SpellingPrior:
    """Rates the letters and words of transcripts.

    Args:
        prior: of letters.
        likely: words that count in favour of a text, lower case.
        alphabet: the letter of each word of a spelling alphabet, lower case.
        vocabulary: text of each token.
        end: token of the end mark.
    """

    def __init__(
        self,
        prior: LetterPrior,
        alphabet: Mapping[str, str],
        likely: Collection[str],
        vocabulary: Sequence[bytes],
        end: int,
    ) -> None:
        self._prior, self._alphabet, self._likely, self._end = prior, alphabet, frozenset(likely), end
        self._texts = [
            token.decode(errors="replace").replace("\N{LOWER ONE EIGHTH BLOCK}", " ") for token in vocabulary
        ]
        self.rate = lru_cache(_REMEMBERED)(self._rate)

    def _rate(self, tokens: tuple[int, ...]) -> float:
        """Return the score of a text, in nats. Its last word counts once another begins."""
        text = "".join(self._texts[token] for token in tokens[1:] if token != self._end).lower()
        words = _WORD.findall(text)
        if tokens[-1] != self._end and words and len(words[-1]) > 1:
            words.pop()
        score, run = 0.0, ""
        repeated = sum(before in _SIGNS and word in _SIGNS for before, word in pairwise(words))
        for word in words:
            letter = word if len(word) == 1 and word.isalpha() else self._alphabet.get(word)
            if letter is None:
                score += self._rate_end(run) if word in _SIGNS else 0.0
                score += _LIKELY_WORD if word in self._likely else 0.0
                run = ""
                continue
            score += self._prior.gain(run, letter)
            run += letter
        if tokens[-1] == self._end:
            score += self._rate_end(run)
        return _WEIGHT * score - _REPEATED_SIGN * repeated

    def _rate_end(self, run: str) -> float:
        """Return the score of the end of spelled letters."""
        if len(run) < 2:
            return 0.0
        return self._prior.gain(run, END) + (_LIKELY_NAME if run in self._likely else 0.0)
