"""Sentences without end whose meaning a teacher tells the model: callers' questions, most of them changed.

Words are exchanged for other common ones and halves of questions are joined, so that the model learns what
words mean that no caller of the training data uses, among the words that callers do use (compare the
augmentation of TinyBERT, Jiao et al., 2020). Nonsense among them does no harm: the teacher tells what it
makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from random import Random

_AS_THEY_ARE = 0.35
_JOINED = 0.3  # of the others
_INSERTED = 0.25  # of the exchanged words: put between two instead
_EXCHANGED = (1, 1, 2, 2, 3, 4)
_LONGEST = 24  # words
_COMMONNESS = 1000  # the word of this rank is half as frequent as the commonest


def sentences(questions: Iterator[str], words: Sequence[str], seed: int) -> Iterator[str]:
    """Questions, most of them changed; `words`: the commonest first. The same ones for the same seed."""
    rng = Random(seed)
    weights = list(accumulate(1 / (rank + _COMMONNESS) for rank in range(len(words))))
    for question in questions:
        if rng.random() < _AS_THEY_ARE:
            yield question
            continue
        text = question.split()
        if rng.random() < _JOINED:
            other = next(questions).split()
            text = text[: rng.randint(1, len(text))] + other[rng.randrange(len(other)) :]
        for word in rng.choices(words, cum_weights=weights, k=rng.choice(_EXCHANGED)):
            at = rng.randrange(len(text))
            text[at : at + (rng.random() >= _INSERTED)] = [word]
        yield " ".join(text[:_LONGEST])
