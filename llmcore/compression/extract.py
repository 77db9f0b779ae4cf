"""Extractive summary of old turns without a model: the sentences with names, numbers and dates."""

from __future__ import annotations

import re
from bisect import bisect_left

from llmcore.compression.summary import MAX_PHRASES, OldTurns

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_SPEAKERS = {"user": "Caller", "assistant": "You"}


def extract(turns: OldTurns, max_characters: int) -> str:
    """Return the sentences with facts in their order, labelled by speaker; "" if there are none.

    Beyond `max_characters` the agent's sentences are dropped first, then the oldest. Facts of the agent that
    the system prompt states are left out.
    """
    # newest first, and few: each sentence is searched for all of them
    phrases = list(dict.fromkeys(fact.phrase for fact in reversed(turns.facts())))[:MAX_PHRASES]
    lines: list[tuple[str, str]] = [("", sentence) for sentence in _sentences(turns.earlier)]
    for message in turns.said:
        if message.role not in _SPEAKERS:
            continue
        for sentence in _sentences(message.content):
            if any(phrase in sentence for phrase in phrases):
                lines.append((_SPEAKERS[message.role], sentence))
    return _fit(list(dict.fromkeys(lines)), max_characters)


def _fit(lines: list[tuple[str, str]], max_characters: int) -> str:
    """Join the lines, dropping as many as needed."""
    drop_order = sorted(range(len(lines)), key=lambda index: lines[index][0] != "You")

    def without(count: int) -> str:
        dropped = set(drop_order[:count])
        return _join([line for index, line in enumerate(lines) if index not in dropped])

    counts = range(len(lines) + 1)
    return without(bisect_left(counts, True, key=lambda count: len(without(count)) <= max_characters))


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]


def _join(lines: list[tuple[str, str]]) -> str:
    """Join the lines, naming the speaker at each change."""
    parts: list[str] = []
    speaker = ""
    for who, sentence in lines:
        parts.append(f"{who}: {sentence}" if who and who != speaker else sentence)
        speaker = who
    return " ".join(parts)
