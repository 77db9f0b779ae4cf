"""Old turns without a model: the sentences that hold names, numbers and dates. Pure."""

from __future__ import annotations

import re

from llmcore.compression.summary import OldTurns

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_SPEAKERS = {"user": "Caller", "assistant": "You"}


def extract(turns: OldTurns, max_characters: int) -> str:
    """The sentences with facts, in their order, by who said them; "" where there are none.

    Beyond `max_characters` the agent's go first, then the oldest. Of what the agent said, a fact that the
    system prompt tells needs no keeping.
    """
    worth = {fact.phrase for fact in turns.facts()}
    lines: list[tuple[str, str]] = [("", sentence) for sentence in _sentences(turns.earlier)]
    for message in turns.said:
        if message.role not in _SPEAKERS:
            continue
        for sentence in _sentences(message.content):
            if any(phrase in sentence for phrase in worth):
                lines.append((_SPEAKERS[message.role], sentence))
    lines = list(dict.fromkeys(lines))
    for dispensable in ("You", None):
        while len(_joined(lines)) > max_characters:
            index = next((i for i, (who, _) in enumerate(lines) if dispensable in (who, None)), None)
            if index is None:
                break
            del lines[index]
    return _joined(lines)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(text.strip()) if sentence]


def _joined(lines: list[tuple[str, str]]) -> str:
    """One text; who speaks is told where it changes."""
    parts: list[str] = []
    speaker = ""
    for who, sentence in lines:
        parts.append(f"{who}: {sentence}" if who and who != speaker else sentence)
        speaker = who
    return " ".join(parts)
