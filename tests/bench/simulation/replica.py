"""A simulated replica of an LLM: speed, cache and queue."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """Performance of one replica.

    prefill_tokens_s: prompt tokens a second, one prompt after the other; generation stalls meanwhile.
    token_s: seconds a token of an answer, plus beside_s for each concurrent answer. request_s: network time
    of a request. max_running: concurrent requests. cache_tokens: size of the KV cache. transfer_tokens_s: KV
    cache tokens transferred between machines a second.
    """

    prefill_tokens_s: float = 40_000.0
    token_s: float = 0.004
    beside_s: float = 0.0
    request_s: float = 0.0
    max_running: int = 64
    cache_tokens: int = 400_000
    transfer_tokens_s: float = 200_000.0


Part = tuple[str, int]
"""A part of a prompt: its owner, an agent or a call, and its number of tokens."""


class Replica:
    """State of a replica: when it can prefill next, and the cached tokens of each owner, the latest last.
    writing: answers in progress. reads_s: total prefill time of all prompts.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._free_s = self.reads_s = 0.0
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._total = 0
        self.writing = 0

    def read(self, prompt: Sequence[Part], now_s: float) -> tuple[int, float]:
        """Process a prompt; return its number of cached tokens, and when it is done."""
        had, tokens = 0, sum(tokens for _, tokens in prompt)
        for whose, part in prompt:
            had += min(self._kept.get(whose, 0), part)
            if self._kept.get(whose, 0) < part:
                break
        took_s = (tokens - had) / self._machine.prefill_tokens_s
        self._free_s = max(now_s, self._free_s) + took_s
        self.reads_s += took_s
        for whose, part in reversed(prompt):  # a prompt's end is evicted before its beginning
            self._total += part - self._kept.pop(whose, 0)
            self._kept[whose] = part
        while self._total > self._machine.cache_tokens and len(self._kept) > 1:
            self._give_up(self._total - self._machine.cache_tokens)
        return had, self._free_s

    def stood_still_s(self, now_s: float) -> float:
        """Return the total prefill time up to now, during which answers stalled."""
        return self.reads_s - max(0.0, self._free_s - now_s)

    def token_s(self) -> float:
        """Return the seconds per token of an answer that begins now."""
        return self._machine.token_s + self.writing * self._machine.beside_s

    def lose(self) -> None:
        """Drop the cache: the replica is gone."""
        self._kept.clear()
        self._total = 0

    def _give_up(self, tokens: int) -> None:
        """Evict `tokens` tokens from the end of the least recently used entry, as vLLM does."""
        whose, kept = next(iter(self._kept.items()))
        given_up = min(kept, tokens)
        self._total -= given_up
        if given_up == kept:
            del self._kept[whose]
        else:
            self._kept[whose] = kept - given_up  # it stays the oldest
