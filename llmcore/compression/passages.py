"""What a retriever found for a turn, pruned by relevance and placed in the prompt. Pure.

It stands in the newest message, before its words: all that is before it, the system prompt and the history,
is as it was, so that prefix caches hit; and the words that still come do not change what was read of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmcore.engine import Message

OPENS = "[Found for what is said next, and not said by anybody; use it only where it fits:"
CLOSES = "]"


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was found, and the cosine of its meaning to that of what the caller said."""

    text: str
    cosine: float


def choose_passages(
    found: Sequence[Passage], shown: Sequence[str], min_cosine: float, max_characters: int
) -> tuple[str, ...]:
    """The passages to show: those that are near enough, the nearest first, up to `max_characters` in all.

    Those of `shown`, in the prompt of this turn already, stay where they are as long as they are near enough:
    what was read of the prompt then holds. One too long for what is left is passed over.
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
    """Where the caller's newest message is in a prompt, and its words; -1 and "" where there is none."""
    for index in reversed(range(len(messages))):
        if messages[index].role == "user":
            return index, messages[index].content
    return -1, ""


def with_passages(messages: Sequence[Message], texts: Sequence[str]) -> tuple[Message, ...]:
    """The prompt with these passages before the caller's newest words."""
    index, words = newest_words(messages)
    if index < 0 or not texts:
        return tuple(messages)
    context = "\n".join((OPENS, *texts))
    told = replace(messages[index], content=f"{context}{CLOSES}\n{words}")
    return (*messages[:index], told, *messages[index + 1 :])
