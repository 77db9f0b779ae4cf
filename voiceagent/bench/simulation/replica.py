"""A simulated replica of an LLM: what it can, what it keeps, and when it has read."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Machine:
    """What one replica can.

    prefill_tokens_s: that it reads a second, one prompt after the other; answers stand still meanwhile.
    token_s: seconds a token of an answer, beside_s more for each other answer that is written at once.
    request_s: of each request, on its way there and back. max_running: requests at once. cache_tokens: whose
    KV cache it keeps. transfer_tokens_s: whose KV cache goes from one machine to another in a second.
    """

    prefill_tokens_s: float = 40_000.0
    token_s: float = 0.004
    beside_s: float = 0.0
    request_s: float = 0.0
    max_running: int = 64
    cache_tokens: int = 400_000
    transfer_tokens_s: float = 200_000.0


Part = tuple[str, int]
"""A part of a prompt: whose words it is, an agent's or a call's, and how many tokens."""


class Replica:
    """When it is free to read, the tokens that it keeps of each agent and call, the latest last, and
    `writing`: the answers that it writes. reads_s: how long it reads in all what it was given.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._free_s = self.reads_s = 0.0
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._total = 0
        self.writing = 0

    def read(self, prompt: Sequence[Part], now_s: float) -> tuple[int, float]:
        """Read a prompt: how many of its tokens it had, and when it will be read."""
        had, tokens = 0, sum(tokens for _, tokens in prompt)
        for whose, part in prompt:
            had += min(self._kept.get(whose, 0), part)
            if self._kept.get(whose, 0) < part:
                break
        took_s = (tokens - had) / self._machine.prefill_tokens_s
        self._free_s = max(now_s, self._free_s) + took_s
        self.reads_s += took_s
        for whose, part in reversed(prompt):  # the end is given up before the beginning
            self._total += part - self._kept.pop(whose, 0)
            self._kept[whose] = part
        while self._total > self._machine.cache_tokens and len(self._kept) > 1:
            self._give_up(self._total - self._machine.cache_tokens)
        return had, self._free_s

    def stood_still_s(self, now_s: float) -> float:
        """How long it has read by now, in all: its answers stood still meanwhile."""
        return self.reads_s - max(0.0, self._free_s - now_s)

    def token_s(self) -> float:
        """Seconds a token of an answer that begins now."""
        return self._machine.token_s + self.writing * self._machine.beside_s

    def lose(self) -> None:
        """It is gone, with all that it kept."""
        self._kept.clear()
        self._total = 0

    def _give_up(self, tokens: int) -> None:
        """Give up so many tokens, from the end of what was not asked for the longest, as vLLM does."""
        whose, kept = next(iter(self._kept.items()))
        given_up = min(kept, tokens)
        self._total -= given_up
        if given_up == kept:
            del self._kept[whose]
        else:
            self._kept[whose] = kept - given_up  # it stays the oldest
