"""How much passages have to do with a question: Okapi BM25. Pure.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with their usual
constants and the form of the inverse document frequency that is never negative.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

K1 = 1.2
B = 0.75

_WORD = re.compile(r"[^\W_]+")


def relevance(passages: Sequence[str], question: str) -> list[float]:
    """A score for each passage: 0 for one that shares no word with the question."""
    bags = [Counter(_words(passage)) for passage in passages]
    mean_length = sum(bag.total() for bag in bags) / len(bags) if bags else 0.0
    scores = [0.0] * len(bags)
    for term in set(_words(question)):
        having = sum(1 for bag in bags if term in bag)
        weight = math.log(1 + (len(bags) - having + 0.5) / (having + 0.5))
        for index, bag in enumerate(bags):
            if count := bag[term]:
                length = 1 - B + B * bag.total() / mean_length
                scores[index] += weight * count * (K1 + 1) / (count + K1 * length)
    return scores


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
