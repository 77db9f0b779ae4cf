"""A model of a replica's KV cache: which prompt prefixes it probably holds.

A prompt's text is split into blocks. Each is identified by a hash of itself and all before it, as engines
identify the blocks of their caches, so two prompts share as many hashes as leading blocks. A replica is
assumed to evict the least recently used block, and the end of a prompt before its beginning, so every known
block has a known prefix. The capacity is learned from the cached tokens that the replica reports.
"""

from __future__ import annotations

from bisect import bisect
from collections import OrderedDict, deque
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from llmcore.engine import Generation, Message, Tool

BLOCK = 256
"""Characters of a block, about 64 tokens. Larger ones tell fewer prefixes apart; smaller ones hash more."""
MAX_BLOCKS = 8_192
"""Largest number of blocks remembered of a replica: half a million tokens, the KV cache of a large GPU."""
TOLERANCE = 0.25
"""Relative error of the ratio of tokens to characters: instructions are prose, tools are JSON."""

BlockHashes = Sequence[int]


class PrefixSnapshot(NamedTuple):
    """A prompt sent to a replica.

    used: for each of its leading known blocks, when it was last read; counted in blocks, the beginning of a
    prompt after its end.
    """

    prompt: BlockHashes
    used: Sequence[int]


class BlockHasher:
    """Block hashes of a growing prompt, computed incrementally."""

    def __init__(self, tools: Sequence[Tool] = ()) -> None:
        self._rest = repr(tools) if tools else ""
        self._messages = 0
        self._hashes: list[int] = []

    def hashes(self, messages: Sequence[Message]) -> BlockHashes:
        """Return the hashes of all complete blocks. The messages must begin with those of the previous call.
        An incomplete last block has no hash, as it will still grow.
        """
        parts = [self._rest]
        for message in messages[self._messages :]:
            parts += (message.role, message.content, *map(repr, message.tool_calls))
        text, block_hash = "\0".join(parts), self._hashes[-1] if self._hashes else 0
        for begin in range(0, len(text) - BLOCK + 1, BLOCK):
            block_hash = hash((block_hash, text[begin : begin + BLOCK]))
            self._hashes.append(block_hash)
        self._messages, self._rest = len(messages), text[len(text) // BLOCK * BLOCK :]
        return tuple(self._hashes)


def block_hashes(prompt: Generation) -> BlockHashes:
    """Return the hashes of a prompt's complete blocks."""
    return BlockHasher(prompt.tools).hashes(prompt.messages)


class ServedPrefixes:
    """Blocks that one replica holds. max_blocks: largest number remembered."""

    def __init__(self, max_blocks: int = MAX_BLOCKS) -> None:
        self._max_blocks = self._limit = max_blocks
        self._known: OrderedDict[int, int] = OrderedDict()  # last read of each, most recent last
        self._count = 0
        self._reports_cache = False

    def __len__(self) -> int:
        return len(self._known)

    def known_blocks(self, prompt: BlockHashes) -> int:
        """Return the number of leading blocks of a prompt that are known."""
        # a known block implies that all blocks before it are known
        return bisect(prompt, x=False, key=lambda block_hash: block_hash not in self._known)

    def snapshot(self, prompt: BlockHashes) -> PrefixSnapshot:
        """Return the state of a prompt before the replica reads it, for `record_read`."""
        return PrefixSnapshot(prompt, list(map(self._known.__getitem__, prompt[: self.known_blocks(prompt)])))

    def record_read(self, snapshot: PrefixSnapshot, cached: float) -> None:
        """Record a completed prefill.

        cached: share of the prompt that the replica reports as cached, 0 to 1.
        """
        prompt, used = snapshot
        self._reports_cache = self._reports_cache or cached > 0
        if self._reports_cache:  # a replica that never reports cached tokens does not report at all
            had = round(cached * len(prompt))
            if had < len(used) * (1 - TOLERANCE):
                self._evict_until(used[had])
            elif had > len(used) * (1 + TOLERANCE):
                self._limit = min(self._max_blocks, self._limit + had - len(used))
        # no Python loop: a long conversation has hundreds of blocks each turn
        self._known.update(zip(reversed(prompt), count(self._count + 1)))
        deque(map(self._known.move_to_end, reversed(prompt)), maxlen=0)
        self._count += len(prompt)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)

    def _evict_until(self, used: int) -> None:
        """Drop the blocks last read at count `used` or before. The rest is the capacity from now on."""
        while self._known and next(iter(self._known.values())) <= used:
            self._known.popitem(last=False)
        self._limit = len(self._known)
