"""Pruning of tool outputs to the passages relevant to the caller's question."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

ELLIPSIS = " … "
PASSAGE_CHARACTERS = 300
"""Longer paragraphs are split into sentences."""
MAX_CHARACTERS = 65_536
"""Characters of an output that are considered; the rest is dropped."""
MAX_PASSAGES = 2_000
"""Passages of a text or list that are ranked; later ones are dropped."""
MAX_DEPTH = 16
"""Nesting depth up to which JSON is pruned by element; deeper values are pruned as text."""

_K1 = 1.2
_B = 0.75

_WORD = re.compile(r"[^\W_]+")
# starts at a non-blank, so that runs of blanks are not scanned repeatedly
_PARAGRAPH = re.compile(r"^[^\S\n]*\S[^\n]*", re.MULTILINE)
_SENTENCE = re.compile(r"\S.*?(?:[.!?…](?=\s)|$)")


def prune(output: str, question: str, max_characters: int) -> str:
    """Return the passages of `output` most relevant to `question`, in order, within `max_characters`.

    JSON stays JSON, pruned by the elements of lists and objects; text by paragraphs and sentences. Omissions
    are marked. An output that fits is returned unchanged.
    """
    if len(output) <= max_characters:
        return output
    output = output[:MAX_CHARACTERS]
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict | list):
        pruned = _dump(_prune_value(value, question, max_characters))
        if len(pruned) <= max_characters:
            return pruned
    return _prune_text(output, question, max_characters)


def _prune_text(text: str, question: str, max_characters: int) -> str:
    spans = _passages(text)
    costs = [end - start + 2 * len(ELLIPSIS) for start, end in spans]
    chosen = _choose([text[start:end] for start, end in spans], costs, question, max_characters)
    if not chosen:
        return text[: max(max_characters - len(ELLIPSIS), 0)].rstrip() + ELLIPSIS.rstrip()
    parts = [ELLIPSIS.lstrip() if chosen[0] > 0 else ""]
    for index, following in zip(chosen, [*chosen[1:], len(spans)], strict=True):
        start, end = spans[index]
        adjacent = following == index + 1 < len(spans)
        gap = text[end : spans[following][0]] if adjacent else "" if following == index + 1 else ELLIPSIS
        parts += [text[start:end], gap]
    return "".join(parts).rstrip()


def _passages(text: str) -> list[tuple[int, int]]:
    """Return the spans of paragraphs, or of the sentences of long ones."""
    spans = []
    for paragraph in _PARAGRAPH.finditer(text):
        if len(paragraph.group()) <= PASSAGE_CHARACTERS:
            spans.append(paragraph.span())
        else:
            found = islice(_SENTENCE.finditer(text, *paragraph.span()), MAX_PASSAGES)
            spans += [sentence.span() for sentence in found]
        if len(spans) >= MAX_PASSAGES:
            break
    return spans[:MAX_PASSAGES]


def _choose(passages: Sequence[str], costs: Sequence[int], question: str, budget: int) -> list[int]:
    """Return the indices of the most relevant passages that fit, in order; the first of equals."""
    scores = relevance(passages, question)
    chosen = []
    for index in sorted(range(len(passages)), key=lambda index: (-scores[index], index)):
        if costs[index] <= budget:
            chosen.append(index)
            budget -= costs[index]
    return sorted(chosen)


def _prune_value(value: Any, question: str, budget: int, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        return _prune_text(_dump(value), question, max(budget - 2, 0))
    if not value or len(_dump(value)) <= budget:
        return value
    if isinstance(value, list):
        return _prune_list(value, question, budget, depth)
    if isinstance(value, dict):
        return _prune_object(value, question, budget, depth)
    return _prune_text(value, question, max(budget - 2, 0)) if isinstance(value, str) else value


def _prune_list(values: list[Any], question: str, budget: int, depth: int) -> list[Any]:
    left_out = f"… {len(values)} left out"
    budget -= len(left_out) + 4
    passages = [_dump(value) for value in values[:MAX_PASSAGES]]
    chosen = _choose(passages, [len(passage) + 2 for passage in passages], question, budget)
    if not chosen:  # each is too long: prune the best one
        scores = relevance(passages, question)
        best = max(range(len(passages)), key=lambda index: (scores[index], -index))
        return [_prune_value(values[best], question, budget - 4, depth + 1), f"… {len(values) - 1} left out"]
    return [*(values[index] for index in chosen), f"… {len(values) - len(chosen)} left out"]


def _prune_object(value: dict[str, Any], question: str, budget: int, depth: int) -> dict[str, Any]:
    """Keep short entries; divide the rest of the budget among the long ones."""
    costs = {key: len(_dump(key)) + len(_dump(entry)) + 4 for key, entry in value.items()}
    share = budget // len(value)
    long = [key for key, cost in costs.items() if cost > share]
    left = budget - sum(cost for key, cost in costs.items() if cost <= share)
    each = left // len(long) if long else 0
    return {
        key: _prune_value(entry, question, each - len(_dump(key)) - 4, depth + 1) if key in long else entry
        for key, entry in value.items()
    }


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def relevance(passages: Sequence[str], question: str) -> list[float]:
    """Return the Okapi BM25 score of each passage for a question; 0 without a shared word.

    Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with the usual
    constants and the never negative form of the inverse document frequency.
    """
    bags = [Counter(_words(passage)) for passage in passages]
    mean_length = sum(bag.total() for bag in bags) / len(bags) if bags else 0.0
    asked = set(_words(question))
    shared = [[(term, count) for term, count in bag.items() if term in asked] for bag in bags]
    having = Counter(term for terms in shared for term, _ in terms)
    weights = {term: math.log(1 + (len(bags) - some + 0.5) / (some + 0.5)) for term, some in having.items()}
    scores = []
    for bag, terms in zip(bags, shared, strict=True):
        length = 1 - _B + _B * bag.total() / mean_length if terms else 0.0
        scores.append(
            sum(weights[term] * count * (_K1 + 1) / (count + _K1 * length) for term, count in terms)
        )
    return scores


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
