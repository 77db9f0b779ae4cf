"""Break-even test for speculative decoding: compares measured reply times with and without the draft.

The acceptance rate does not include the draft's cost: its own forward passes and longer steps for every other
sequence in the batch. So some replies run without the draft, interleaved with the others, and both are
compared.
"""

from __future__ import annotations

from collections import deque
from statistics import median

COMPARED = 16
"""Replies of each kind needed for a comparison."""
KEPT = 48
"""Newest replies of each kind that are compared."""
PLAIN_EVERY, PLAIN_SELDOM = 3, 12
"""One in this many replies runs without the draft: until enough did, and afterwards to follow changes of
load.
"""
MAX_TTFT = 1.05
"""Largest ratio of the time to first token with the draft to that without. A caller waits for the first
token.
"""


class BreakEven:
    """Reply times with and without a draft, in seconds."""

    def __init__(self) -> None:
        self._with: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._without: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._replies = 0

    def wants_plain(self) -> bool:
        """Return True if the next reply must run without the draft, for comparison.

        Call once for each reply.
        """
        self._replies += 1
        every = PLAIN_EVERY if len(self._without) < COMPARED else PLAIN_SELDOM
        return self._replies % every == 0

    def observe(self, ttft_s: float, token_s: float, *, drafted: bool) -> None:
        """Record a completed reply: time to first token, and mean time of each token after it."""
        (self._with if drafted else self._without).append((ttft_s, token_s))

    def pays(self, tokens: float) -> bool | None:
        """Return True if the draft shortens replies of this many tokens, or None if too few were measured."""
        if min(len(self._with), len(self._without)) < COMPARED:
            return None
        ttft_s, token_s = _medians(self._with)
        plain_ttft_s, plain_token_s = _medians(self._without)
        sooner = ttft_s + tokens * token_s < plain_ttft_s + tokens * plain_token_s
        return sooner and ttft_s <= MAX_TTFT * plain_ttft_s

    def forget(self) -> None:
        """Discard all measurements, which belong to another load."""
        self._with.clear()
        self._without.clear()


def _medians(times: deque[tuple[float, float]]) -> tuple[float, float]:
    ttft_s, token_s = zip(*times, strict=True)
    # medians: a single reply delayed by a long prefill must not decide
    return median(ttft_s), median(token_s)
