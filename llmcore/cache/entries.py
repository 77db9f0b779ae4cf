"""Where the entries of the semantic cache are kept."""

from __future__ import annotations

from typing import Protocol

from llmcore.cache.semantic_cache import Entry, Near
from llmcore.cache.vectors import Vector


class EntriesError(Exception):
    """The place where entries are kept does not answer; the text says which and why."""


class Entries(Protocol):
    """Keeps entries for their time to live, and finds those near a question."""

    async def start(self) -> None:
        """Be ready. Raises EntriesError."""

    async def close(self) -> None:
        """Release everything; a second call does nothing."""

    async def near(self, agent: str, vector: Vector, threshold: float) -> list[Near]:
        """The entries of `agent` whose questions are at least so near, nearest first. Raises EntriesError."""
        ...

    async def put(self, entry: Entry, vector: Vector, ttl_s: float) -> None:
        """Keep an entry for `ttl_s` seconds, in place of one with its key. Raises EntriesError."""

    async def remove(self, entry: Entry) -> None:
        """Forget an entry, if it is there. Raises EntriesError."""

    async def clear(self) -> None:
        """Forget all entries. Raises EntriesError."""
