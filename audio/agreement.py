"""The stable prefix of successive hypotheses: what several in a row agree on is not taken back.

LocalAgreement-n of Liu, Spanakis and Niehues, "Low-Latency Sequence-to-Sequence Speech Recognition and
Translation by Partial Hypothesis Selection" (2020), on whole words, compared without case and surrounding
punctuation.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile

_PUNCTUATION = ".,;:!?…\"'“”‘’«»¿¡()[]{}-–—"


class LocalAgreement:
    """The stable part of one utterance's growing text.

    agreeing: so many hypotheses in a row must agree, 2 or more. hold_n: so many of the newest words are never
    agreed on, as in the paper's hold-n: they change with what follows them.
    """

    def __init__(self, agreeing: int = 2, hold_n: int = 0) -> None:
        self._newest: deque[list[str]] = deque(maxlen=agreeing)
        self._agreeing = agreeing
        self._hold_n = hold_n
        self._stable: list[str] = []

    @property
    def stable(self) -> str:
        """What every later text begins with. The punctuation after its last word is still open."""
        if not self._stable:
            return ""
        return " ".join([*self._stable[:-1], self._stable[-1].rstrip(_PUNCTUATION) or self._stable[-1]])

    @property
    def stable_words(self) -> int:
        """How many words are stable."""
        return len(self._stable)

    def push(self, hypothesis: str) -> str:
        """Take the next hypothesis, let the stable part grow, and return the text as `keep` does."""
        words = self._continued(hypothesis)
        self._newest.append(words)
        agreed = min(self._alike(), len(words) - self._hold_n)
        if agreed > len(self._stable):
            self._stable = words[:agreed]
        return " ".join(words)

    def keep(self, hypothesis: str) -> str:
        """`hypothesis` with its beginning as already agreed."""
        return " ".join(self._continued(hypothesis))

    def _alike(self) -> int:
        """How many leading words the newest hypotheses have in common; none before there are enough."""
        if len(self._newest) < self._agreeing:
            return 0
        together = zip(*(map(_key, words) for words in self._newest), strict=False)
        return sum(1 for _ in takewhile(lambda keys: len(set(keys)) == 1, together))

    def _continued(self, hypothesis: str) -> list[str]:
        """The words of the hypothesis, those up to where it best matches the stable part replaced by that."""
        words = hypothesis.split()
        if not self._stable:
            return words
        split = _best_split([_key(word) for word in self._stable], [_key(word) for word in words])
        *settled, last = self._stable
        core = last.rstrip(_PUNCTUATION) or last
        if split and _key(words[split - 1]) == _key(last):
            last = core + _trailing_punctuation(words[split - 1])
        return [*settled, last, *words[split:]]


def _key(word: str) -> str:
    """What of a word is compared."""
    return word.casefold().strip(_PUNCTUATION) or word


def _trailing_punctuation(word: str) -> str:
    bare = word.rstrip(_PUNCTUATION)
    return word[len(bare) :] if bare else ""


def _best_split(stable: list[str], words: list[str]) -> int:
    """The length of the beginning of `words` that is fewest edits from `stable`; of equals the likeliest."""
    if words[: len(stable)] == stable:
        return len(stable)
    row = list(range(len(words) + 1))
    for done, wanted in enumerate(stable, start=1):
        above, row = row, [done]
        for column, word in enumerate(words, start=1):
            row.append(min(above[column] + 1, row[-1] + 1, above[column - 1] + (word != wanted)))
    return min(range(len(row)), key=lambda length: (row[length], abs(length - len(stable))))
