"""Stable prefix of successive transcript hypotheses: words that several in a row share rarely change.

LocalAgreement-n of Liu, Spanakis and Niehues, "Low-Latency Sequence-to-Sequence Speech Recognition and
Translation by Partial Hypothesis Selection" (2020), on whole words, compared without case and surrounding
punctuation. In the paper the prefix is final, as decoding is forced to continue it; here a later hypothesis
has more audio and is better, so it may shorten the prefix.
"""

from __future__ import annotations

from collections import deque
from itertools import takewhile

PUNCTUATION = ".,;:!?…\"'“”‘’«»¿¡()[]{}-–—"


class LocalAgreement:
    """Stable prefix of one utterance's growing transcript.

    agreeing: number of consecutive hypotheses that must agree, 2 or more. hold_n: number of newest words that
    never count as stable, as in the paper's hold-n: later audio changes them.
    """

    def __init__(self, agreeing: int = 2, hold_n: int = 0) -> None:
        self._hypotheses: deque[list[str]] = deque(maxlen=agreeing)
        self._agreeing = agreeing
        self._hold_n = hold_n
        self._stable: list[str] = []

    @property
    def stable(self) -> str:
        """Stable prefix, without the punctuation after its last word, which may still change."""
        if not self._stable:
            return ""
        return " ".join([*self._stable[:-1], self._stable[-1].rstrip(PUNCTUATION) or self._stable[-1]])

    @property
    def stable_words(self) -> int:
        return len(self._stable)

    def push(self, hypothesis: str) -> None:
        """Add the next hypothesis."""
        words = hypothesis.split()
        self._hypotheses.append(words)
        self._stable = words[: max(0, min(self._common_words(), len(words) - self._hold_n))]

    def _common_words(self) -> int:
        """Return the number of leading words that the newest hypotheses share; 0 before there are enough."""
        if len(self._hypotheses) < self._agreeing:
            return 0
        together = zip(*(map(word_key, words) for words in self._hypotheses), strict=False)
        return sum(1 for _ in takewhile(lambda keys: len(set(keys)) == 1, together))


def word_key(word: str) -> str:
    """Return the word for comparison: without case and surrounding punctuation."""
    return word.casefold().strip(PUNCTUATION) or word
