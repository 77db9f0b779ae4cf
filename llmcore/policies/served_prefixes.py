"""Which beginnings of prompts a replica has in its KV cache, as far as those who ask it can know. Pure.

A prompt is its text in blocks, each known by a mark of itself and all before it, as engines know the blocks
of their caches: two prompts have as many marks in common as blocks that they begin with alike. A replica is
taken to give up what was longest not asked for, the ends of prompts before their beginnings, so that whatever
is known is known from its first block on. How much it keeps is learned from what it says that it had.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict, deque
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from llmcore.engine import Generation, Message, Tool

BLOCK = 256
"""Characters, about 64 tokens: with more, fewer beginnings are told apart; with fewer, more is hashed."""
KEPT = 8_192
"""Blocks that are known of a replica at most: half a million tokens, the KV cache of a large GPU."""
TOLERANCE = 0.25
"""The proportion of tokens to characters may differ by this part: instructions are words, tools are JSON."""

Marks = Sequence[int]


class Reading(NamedTuple):
    """A prompt that goes to a replica. used: when each of its blocks was last read there, of those that are
    known; counted in blocks, a prompt's beginning after its end.
    """

    prompt: Marks
    used: Sequence[int]


class GrowingPrompt:
    """The marks of a prompt that grows: what it began with is not hashed again."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._rest = repr(tools) if tools else ""
        self._messages = 0
        self._marks: list[int] = []

    def marks(self, messages: Sequence[Message]) -> Marks:
        """Those of its whole blocks by now, where it begins with the messages that it had the last time; what
        is left at its end, and is about to grow, has none.
        """
        parts = [self._rest]
        for message in messages[self._messages :]:
            parts += (message.role, message.content, *map(repr, message.tool_calls))
        text, mark = "\0".join(parts), self._marks[-1] if self._marks else 0
        for begin in range(0, len(text) - BLOCK + 1, BLOCK):
            mark = hash((mark, text[begin : begin + BLOCK]))
            self._marks.append(mark)
        self._messages, self._rest = len(messages), text[len(text) // BLOCK * BLOCK :]
        return tuple(self._marks)


def marks_of(prompt: Generation) -> Marks:
    """The marks of a prompt's whole blocks."""
    return GrowingPrompt(prompt.tools).marks(prompt.messages)


class ServedPrefixes:
    """What one replica has. kept: blocks that are known at most."""

    def __init__(self, kept: int = KEPT) -> None:
        self._most = self._limit = kept
        self._known: OrderedDict[int, int] = OrderedDict()  # when each was read, the latest last
        self._count = 0
        self._tells = False

    def __len__(self) -> int:
        return len(self._known)

    def matched(self, prompt: Marks) -> int:
        """How many blocks of a prompt are known, from its first on."""
        # a block that is known has all before it known too
        return bisect(prompt, x=False, key=lambda mark: mark not in self._known)

    def reading(self, prompt: Marks) -> Reading:
        """A prompt that the replica is about to read; for `read`."""
        return Reading(prompt, list(map(self._known.__getitem__, prompt[: self.matched(prompt)])))

    def read(self, reading: Reading, cached: float) -> None:
        """It has read it. cached: the part of it that it says it had, 0 to 1."""
        prompt, used = reading
        self._tells = self._tells or cached > 0
        if self._tells:  # one that never had anything does not tell
            had = round(cached * len(prompt))
            if had < len(used) * (1 - TOLERANCE):
                self._forget_from(used[had])
            elif had > len(used) * (1 + TOLERANCE):
                self._limit = min(self._most, self._limit + had - len(used))
        # no loop of Python's: a long conversation has hundreds of blocks, each turn
        self._known.update(zip(reversed(prompt), count(self._count + 1)))
        deque(map(self._known.move_to_end, reversed(prompt)), maxlen=0)
        self._count += len(prompt)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)

    def _forget_from(self, used: int) -> None:
        """What was last read then has been given up, and with it all that was not read since."""
        while self._known and next(iter(self._known.values())) <= used:
            self._known.popitem(last=False)
        self._limit = len(self._known)
