"""Rating of transcripts of spelling: by letters, said alone or as words of an alphabet, and by words.

Letters that sound alike are decided by those around them: an n-gram model of the letters of frequent names,
interpolated with shorter contexts (Witten and Bell, "The Zero-Frequency Problem", 1991) and with all letters
alike, so that a rare name loses little.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

_CONTEXT = 4
"""Letters before one that count."""
_ANY = 0.15
"""Share of all letters alike."""
_LETTERS = 26
_BEGIN = "^"
END = "$"
_REMEMBERED = 1024
_WEIGHT = 0.7
"""Weight of the prior beside the sound."""
_LIKELY_WORD, _LIKELY_NAME = 2.0, 3.0
"""Scores of a likely word that is said, and of one that is spelled, in nats."""
_REPEATED_SIGN = 4.0
"""Cost of a sign that follows another, in nats: a search that is lost repeats "dot"."""
_WORD = re.compile(r"[a-z]+(?:-ray)?|\d")
_EXAMPLE = re.compile(r"\b([a-z]) (?:as in|for) \1[a-z-]+")
"""A letter with its example, which is one letter."""
_SIGNS = frozenset(("dot", "at", "dash", "hyphen", "underscore", "plus"))


class LetterPrior:
    """Model of names' letters. names: lower case."""

    def __init__(self, names: Iterable[str]) -> None:
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for name in names:
            letters = _BEGIN + name + END
            for at in range(1, len(letters)):
                for begin in range(max(0, at - _CONTEXT), at + 1):
                    self._counts[letters[begin:at]][letters[at]] += 1
        self.gain = lru_cache(4096)(self._gain)

    def _gain(self, before: str, letter: str) -> float:
        """Return the logarithm of a letter's probability, in proportion to that of any letter.

        before: the letters of the same name before it. letter: `END` for the end of the name.
        """
        context = (_BEGIN + before)[-_CONTEXT:]
        probability = 1 / _LETTERS
        for length in range(len(context) + 1):
            followed = self._counts.get(context[len(context) - length :])
            if not followed:
                break
            total, kinds = sum(followed.values()), len(followed)
            probability = (followed.get(letter, 0) + kinds * probability) / (total + kinds)
        return math.log(_LETTERS * ((1 - _ANY) * probability + _ANY / _LETTERS))


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
        words = _WORD.findall(_EXAMPLE.sub(r"\1", text))
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
