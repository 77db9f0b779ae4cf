"""Texts of prompts that were encoded lately: how much of a prompt is new to the tokenizer's cache."""

from __future__ import annotations

from llmcore.engine import Request

MAX_KNOWN = 4_096
"""Texts to remember, by their hashes; the oldest is forgotten beyond that."""
SHORT_CHARACTERS = 1_000
"""New text that is encoded in less than half a millisecond."""
SHORT_MESSAGES = 40
"""Messages that a template renders in less than a millisecond."""


class KnownTexts:
    """The newest messages and sets of tools that were encoded."""

    def __init__(self, max_known: int = MAX_KNOWN) -> None:
        self._max_known = max_known
        self._known: dict[int, None] = {}

    def is_short(self, request: Request) -> bool:
        """Return True if encoding this request takes about as long as having a thread do it."""
        if len(request.messages) > SHORT_MESSAGES or (
            request.tools and _tools_key(request) not in self._known
        ):
            return False
        new = sum(len(message.content) for message in request.messages if hash(message) not in self._known)
        return new <= SHORT_CHARACTERS

    def add(self, request: Request) -> None:
        """Remember the texts of a request that was encoded."""
        keys = [hash(message) for message in request.messages]
        if request.tools:
            keys.append(_tools_key(request))
        for key in keys:
            self._known.pop(key, None)
            self._known[key] = None
        while len(self._known) > self._max_known:
            del self._known[next(iter(self._known))]


def _tools_key(request: Request) -> int:
    """Return the key of a request's tools. Those of equal names with other schemas only take longer once."""
    return hash(tuple(tool.name for tool in request.tools))
