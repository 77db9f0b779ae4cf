"""The stable prefix of successive hypotheses: what several in a row agree on is mostly not taken back.

LocalAgreement-n of Liu, Spanakis and Niehues, "Low-Latency Sequence-to-Sequence Speech Recognition and
Translation by Partial Hypothesis Selection" (2020), on whole words, compared without case and surrounding
punctuation. Theirs is final, as they decode with it as a forced prefix; here a later hypothesis of more sound
is the better one, and what it takes back is not stable any more.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile

PUNCTUATION = ".,;:!?…\"'“”‘’«»¿¡()[]{}-–—"


class LocalAgreement:
    """The stable part of one utterance's growing text.

    agreeing: how many hypotheses in a row must agree, 2 or more. hold_n: how many of the newest words never
    count as agreed on, as in the paper's hold-n: they change with what follows them.
    """

    def __init__(self, agreeing: int = 2, hold_n: int = 0) -> None:
        self._newest: deque[list[str]] = deque(maxlen=agreeing)
        self._agreeing = agreeing
        self._hold_n = hold_n
        self._stable: list[str] = []

    @property
    def stable(self) -> str:
        """What the newest hypothesis begins with, as those before it do. The punctuation after its last word
        is still open."""
        if not self._stable:
            return ""
        return " ".join([*self._stable[:-1], self._stable[-1].rstrip(PUNCTUATION) or self._stable[-1]])

    @property
    def stable_words(self) -> int:
        """How many words are stable."""
        return len(self._stable)

    def push(self, hypothesis: str) -> None:
        """Take the next hypothesis."""
        words = hypothesis.split()
        self._newest.append(words)
        self._stable = words[: max(0, min(self._alike(), len(words) - self._hold_n))]

    def _alike(self) -> int:
        """How many leading words the newest hypotheses have in common; none before there are enough."""
        if len(self._newest) < self._agreeing:
            return 0
        together = zip(*(map(word_key, words) for words in self._newest), strict=False)
        return sum(1 for _ in takewhile(lambda keys: len(set(keys)) == 1, together))


def word_key(word: str) -> str:
    """What of a word is compared: no case, no punctuation around it."""
    return word.casefold().strip(PUNCTUATION) or word
