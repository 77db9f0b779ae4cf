"""Trigram language models in ARPA's back-off form: counting, smoothing, mixing and writing."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

Gram = tuple[str, ...]
START, STOP = "<s>", "</s>"
_DISCOUNT = 0.75
_IMPOSSIBLE = 1e-20


class LanguageModel(Protocol):
    """A model of word probabilities."""

    def after(self, history: Gram, word: str) -> float:
        """Return the probability of `word` after `history` (at most two words); 0 for an unknown word."""


@dataclass(frozen=True, slots=True)
class BackOffModel:
    """A back-off model.

    probability: of the last word of a gram after the others. back_off: weight of a history for words that do
    not follow it in `probability`.
    """

    probability: dict[Gram, float]
    back_off: dict[Gram, float]

    def after(self, history: Gram, word: str) -> float:
        """See LanguageModel.after."""
        known = self.probability.get((*history, word))
        if known is not None:
            return known
        if not history:
            return 0.0
        return self.back_off.get(history, 1.0) * self.after(history[1:], word)


def kneser_ney(sentences: Iterable[Sequence[str]]) -> BackOffModel:
    """Return an interpolated trigram model (Kneser and Ney, 1995; Chen and Goodman, 1999) of
    tokenized sentences.
    """
    trigrams: Counter[Gram] = Counter()
    for sentence in sentences:
        words = (START, START, *sentence, STOP)
        trigrams.update(zip(words, words[1:], words[2:], strict=False))
    # Below the highest order a gram counts once for every word seen before it; at a sentence's start, as
    # it is.
    bigrams: Counter[Gram] = Counter()
    for (first, second, third), count in trigrams.items():
        bigrams[second, third] += count if first == second == START else 1
    unigrams = Counter((second,) for _, second in bigrams)
    total = sum(unigrams.values())
    probability: dict[Gram, float] = {gram: count / total for gram, count in unigrams.items()}
    probability[(START,)] = _IMPOSSIBLE
    model = BackOffModel(probability, {})
    for counts in (bigrams, {gram: count for gram, count in trigrams.items() if gram[1] != START}):
        _add_order(model, counts)
    return model


def _add_order(model: BackOffModel, counts: dict[Gram, int]) -> None:
    """Add the discounted counts of one order, mixed with the order below."""
    of_history: defaultdict[Gram, list[tuple[Gram, int]]] = defaultdict(list)
    for gram, count in counts.items():
        of_history[gram[:-1]].append((gram, count))
    for history, grams in of_history.items():
        total = sum(count for _, count in grams)
        freed = _DISCOUNT * len(grams) / total
        for gram, count in grams:
            model.probability[gram] = (count - _DISCOUNT) / total + freed * model.after(history[1:], gram[-1])
        model.back_off[history] = freed


def mix(first: LanguageModel, second: LanguageModel, share: float, grams: Iterable[Gram]) -> BackOffModel:
    """Return the linear mixture, `share` of it `first`, listed for `grams`; the remaining
    probability is backed off.
    """
    listed = {
        gram: share * first.after(gram[:-1], gram[-1]) + (1 - share) * second.after(gram[:-1], gram[-1])
        for gram in sorted(grams, key=len)
    }
    single = sum(p for gram, p in listed.items() if len(gram) == 1 and gram != (START,))
    probability = {gram: p / single if len(gram) == 1 else p for gram, p in listed.items()}
    probability[(START,)] = _IMPOSSIBLE
    return renormalized(BackOffModel(probability, {}))


def renormalized(model: BackOffModel) -> BackOffModel:
    """Return the model with back-off weights that make the probabilities after every history sum to 1."""
    following: defaultdict[Gram, list[Gram]] = defaultdict(list)
    for gram in model.probability:
        if len(gram) > 1:
            following[gram[:-1]].append(gram)
    result = BackOffModel(model.probability, {})
    for history in sorted(following, key=len):
        left = 1 - sum(model.probability[gram] for gram in following[history])
        below = 1 - sum(result.after(gram[1:-1], gram[-1]) for gram in following[history])
        result.back_off[history] = max(left, 1e-6) / max(below, 1e-6)
    return result


def write_arpa(model: BackOffModel, path: Path) -> None:
    """Write the model as ARPA text, grams in order."""
    orders: dict[int, list[Gram]] = {1: [], 2: [], 3: []}
    for gram in sorted(model.probability):
        orders[len(gram)].append(gram)
    with path.open("w", encoding="utf-8") as out:
        out.write("\\data\\\n")
        for order, grams in orders.items():
            out.write(f"ngram {order}={len(grams)}\n")
        for order, grams in orders.items():
            out.write(f"\n\\{order}-grams:\n")
            for gram in grams:
                line = f"{math.log10(model.probability[gram]):.3f}\t{' '.join(gram)}"
                weight = model.back_off.get(gram)
                out.write(line + ("\n" if weight is None else f"\t{math.log10(weight):.3f}\n"))
        out.write("\n\\end\\\n")
