"""Extractive summary of old turns without a model: the sentences with names, numbers and dates, and what
else the caller stated.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

from llmcore.compression.summary import MAX_CHARACTERS, MAX_PHRASES, OldTurns

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_SPEAKERS = {"user": "Caller", "assistant": "You"}
_STATEMENT_WORDS = 4
"""Minimum words of a statement that is kept though it has no fact: "Thank you." is none."""
_STEM = re.compile(r"\b([^\W\d_\u0e00-\u0eff\u2e80-\u9fff]{4})[^\W\d_]*")
"""Beginning of a word of four letters or more, without its ending; none in scripts without spaces."""
_MIN_SHARED = 1 / 3
"""Least share of a summary's words that occur in the sentences it stands for. Of 15 summaries by
Qwen2.5-Coder 0.5B, the nine that are refusals share 0.25, the others at least 0.36.
"""


@dataclass(frozen=True, slots=True)
class _Line:
    """A sentence of the extract. speaker: "" for a sentence of the summary before."""

    speaker: str
    sentence: str
    has_fact: bool


def extract(turns: OldTurns, max_characters: int) -> str:
    """Return the sentences with facts, and the caller's other statements, in their order and labelled by
    speaker; "" if there are none.

    Beyond `max_characters` statements without facts are dropped first, then the agent's sentences, then the
    oldest. Facts of the agent that the system prompt states are left out.
    """
    # newest first, and few: each sentence is searched for all of them
    phrases = list(dict.fromkeys(fact.phrase for fact in reversed(turns.facts())))[:MAX_PHRASES]
    said = [("", turns.earlier)]
    said += [(_SPEAKERS.get(message.role, ""), message.content) for message in turns.said]
    lines = []
    for number, (speaker, text) in enumerate(said):
        if number and not speaker:
            continue
        for sentence in _sentences(text):
            has_fact = any(phrase in sentence for phrase in phrases)
            if has_fact or not number or (speaker == _SPEAKERS["user"] and _is_statement(sentence)):
                lines.append(_Line(speaker, sentence, has_fact))
    return _fit(list(dict.fromkeys(lines)), max_characters)


def is_about(summary: str, turns: OldTurns) -> bool:
    """Return False if few words of a summary occur in a sentence that an extract of the turns would keep: a
    refusal ("I can't assist with that.") or empty talk. True if there are no words to compare.
    """
    stated, kept = _stems(summary), _stems(extract(turns, MAX_CHARACTERS))
    return not (stated and kept) or len(stated & kept) >= _MIN_SHARED * len(stated)


def _stems(text: str) -> set[str]:
    return set(_STEM.findall(text.lower()))


def _is_statement(sentence: str) -> bool:
    return not sentence.endswith("?") and len(sentence.split()) >= _STATEMENT_WORDS


def _fit(lines: list[_Line], max_characters: int) -> str:
    """Join the lines, dropping as many as needed."""

    def worth(index: int) -> tuple[bool, bool]:
        return lines[index].has_fact, lines[index].speaker != _SPEAKERS["assistant"]

    drop_order = sorted(range(len(lines)), key=worth)

    def without(count: int) -> str:
        dropped = set(drop_order[:count])
        return _join([line for index, line in enumerate(lines) if index not in dropped])

    counts = range(len(lines) + 1)
    return without(bisect_left(counts, True, key=lambda count: len(without(count)) <= max_characters))


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]


def _join(lines: list[_Line]) -> str:
    parts: list[str] = []
    speaker = ""
    for line in lines:
        named = line.speaker and line.speaker != speaker
        parts.append(f"{line.speaker}: {line.sentence}" if named else line.sentence)
        speaker = line.speaker
    return " ".join(parts)
