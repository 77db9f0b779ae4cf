"""Paraphrases of training questions, kept if the teacher still considers them the same question.

Phrasings are few, callers' words are endless. For nearly every question that the conversations lack, MiniLM
finds the nearest one that they have; so its knowledge is turned into more questions. Words are replaced by
words of similar meaning (as in TinyBERT's augmentation, Jiao et al., 2020) or by any others, removed, or
inserted; a question is kept if most of the training questions nearest to it have its intent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random

import torch
from torch import Tensor

from examples.hotel_model.data.exchanges import Exchange

Meanings = Callable[[Sequence[str]], Tensor]
"""Maps texts to their normalized meanings [texts, size]."""

_KNOWN = 16_000  # training questions that a paraphrase is compared with
_NEAREST = 12  # of them
_SHARPNESS = 20.0  # of the weights of the nearest: e to the power of this times the cosine
_AGREED = 0.7  # of the weights, at least that of the paraphrase's own intent
_LIKE = 12  # words nearest to a word, at most
_LIKENESS = 0.45  # cosine, at least
_TOGETHER = 4096  # texts compared at once
_CHANGES = (1, 1, 2, 2, 3)
_PUT_IN, _LEFT_OUT, _ANY = 0.12, 0.12, 0.2  # the shares of changes; the others are for a word like it


class Thesaurus:
    """Words, and which of them are similar in meaning."""

    def __init__(self, words: Sequence[str], meanings: Meanings) -> None:
        self.words = words
        self._like: dict[str, tuple[str, ...]] = {}
        vectors = meanings(words)
        for start in range(0, len(words), _TOGETHER):
            cosines = vectors[start : start + _TOGETHER] @ vectors.T
            nearest = cosines.topk(min(_LIKE + 1, len(words)))
            rows = zip(nearest.values.tolist(), nearest.indices.tolist(), strict=True)
            for word, (values, at) in zip(words[start : start + _TOGETHER], rows, strict=True):
                near = (words[i] for value, i in zip(values, at, strict=True) if value >= _LIKENESS)
                self._like[word] = tuple(other for other in near if other != word)

    def like(self, word: str) -> tuple[str, ...]:
        """Return the words similar to `word`, nearest first; () for an unknown word."""
        return self._like.get(word, ())


def paraphrases(
    asked: Iterator[Exchange], fixed: frozenset[str], thesaurus: Thesaurus, meanings: Meanings, seed: int
) -> Iterator[Exchange]:
    """Yield paraphrases of the questions in `asked` that keep their meaning; deterministic for a seed.

    fixed: words to keep, as answers repeat them.
    """
    rng = Random(seed)
    known = list(islice(asked, _KNOWN))
    vectors = meanings([exchange.question for exchange in known])
    numbers = {intent: number for number, intent in enumerate(sorted({each.intent for each in known}))}
    intents = torch.tensor([numbers[exchange.intent] for exchange in known])
    while some := [exchange for exchange in islice(asked, _TOGETHER) if exchange.intent in numbers]:
        texts = [_changed(exchange.question.split(), fixed, thesaurus, rng) for exchange in some]
        nearest = (meanings(texts) @ vectors.T).topk(min(_NEAREST, len(known)))
        weights = (_SHARPNESS * nearest.values).softmax(-1)
        own = torch.tensor([[numbers[exchange.intent]] for exchange in some])
        agreed = (weights * (intents[nearest.indices] == own)).sum(-1).tolist()
        for exchange, text, share in zip(some, texts, agreed, strict=True):
            if share >= _AGREED and text != exchange.question:
                yield replace(exchange, question=text)


def _changed(words: list[str], fixed: frozenset[str], thesaurus: Thesaurus, rng: Random) -> str:
    """Return the words with a few changes, some of which may have no effect."""
    for _ in range(rng.choice(_CHANGES)):
        at, kind = rng.randrange(len(words)), rng.random()
        if kind < _PUT_IN:
            words.insert(at, rng.choice(thesaurus.words))
        elif words[at] in fixed:
            continue
        elif kind < _PUT_IN + _LEFT_OUT:
            words[at : at + 1] = [] if len(words) > 2 else [words[at]]
        elif kind < _PUT_IN + _LEFT_OUT + _ANY:
            words[at] = rng.choice(thesaurus.words)
        elif like := thesaurus.like(words[at]):
            words[at] = rng.choice(like)
    return " ".join(words)
