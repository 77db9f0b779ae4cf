"""Answers in set words: what must always be said in the same way, or what a small model gets wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llmcore.engine import Message


@dataclass(frozen=True, slots=True)
class SetAnswer:
    """An answer to all words in which the pattern is found. `{name}` in it is the pattern's group `name`."""

    pattern: re.Pattern[str]
    answer: str

    def __post_init__(self) -> None:
        groups = dict.fromkeys(self.pattern.groupindex, "")
        try:
            self.answer.format(**groups)
        except (KeyError, IndexError, ValueError) as error:
            allowed = ", ".join(f"{{{name}}}" for name in groups) or "none, as the pattern names no group"
            reason = f"{self.answer!r} has a field that is not known ({error}); allowed: {allowed}"
            raise ValueError(reason) from None

    def to(self, words: str) -> str | None:
        """Return the answer to these words, None if it is none to them."""
        found = self.pattern.search(words)
        if found is None:
            return None
        return self.answer.format(**{name: text or "" for name, text in found.groupdict().items()})


def answer_to(messages: Sequence[Message], answers: Sequence[SetAnswer]) -> str | None:
    """Return the first answer that is set for the caller's words, if these are the last message."""
    if not messages or messages[-1].role != "user":
        return None
    found = (answer.to(messages[-1].content) for answer in answers)
    return next((text for text in found if text is not None), None)
