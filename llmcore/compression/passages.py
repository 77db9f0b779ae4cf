"""Retrieved passages: selected by relevance and placed in the prompt.

They are placed in the newest message, before its text. Everything before, the system prompt and the history,
stays the same for prefix caches, and further words of the caller only extend the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmcore.engine import Message

OPENS = "[Found for what is said next, and not said by anybody; use it only where it fits:"
CLOSES = "]"


@dataclass(frozen=True, slots=True)
class Passage:
    """A retrieved text, and its cosine to the caller's words."""

    text: str
    cosine: float


def choose_passages(
    found: Sequence[Passage], shown: Sequence[str], min_cosine: float, max_characters: int
) -> tuple[str, ...]:
    """Select passages of at least `min_cosine`, closest first, up to `max_characters` in total.

    Passages in `shown`, which this turn's prompt has already, keep their places while they are close enough,
    so that the cached prefix stays valid. A passage that is too long for the rest is skipped.
    """
    near = {one.text: one.cosine for one in found if one.cosine >= min_cosine}
    ordered = [text for text in shown if text in near]
    ordered += sorted(near.keys() - set(ordered), key=lambda text: (-near[text], text))
    chosen: list[str] = []
    left = max_characters
    for text in ordered:
        if len(text) <= left:
            chosen.append(text)
            left -= len(text)
    return tuple(chosen)


def newest_words(messages: Sequence[Message]) -> tuple[int, str]:
    """Return the index and text of the newest user message; -1 and "" if there is none."""
    for index in reversed(range(len(messages))):
        if messages[index].role == "user":
            return index, messages[index].content
    return -1, ""


def with_passages(messages: Sequence[Message], texts: Sequence[str]) -> tuple[Message, ...]:
    """Return the prompt with these passages before the newest user text."""
    index, words = newest_words(messages)
    if index < 0 or not texts:
        return tuple(messages)
    context = "\n".join((OPENS, *texts))
    message = replace(messages[index], content=f"{context}{CLOSES}\n{words}")
    return (*messages[:index], message, *messages[index + 1 :])
