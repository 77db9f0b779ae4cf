"""Break-even test for speculative decoding: compares measured reply times with and without the draft.

The acceptance rate does not include the draft's cost: its own forward passes and longer steps for every other
sequence in the batch. So some replies run without the draft, interleaved with the others, and both are
compared.
"""

from __future__ import annotations

from collections import deque
from statistics import median

MIN_REPLIES = 16
"""Replies of each kind needed for a comparison."""
MAX_REPLIES = 48
"""Newest replies of each kind that are compared."""
PLAIN_INTERVAL, LATER_PLAIN_INTERVAL = 3, 12
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
        self._drafted: deque[tuple[float, float]] = deque(maxlen=MAX_REPLIES)
        self._plain: deque[tuple[float, float]] = deque(maxlen=MAX_REPLIES)
        self._replies = 0

    def is_plain_due(self) -> bool:
        """Return True if the next reply must run without the draft, for comparison.

        Call once for each reply.
        """
        self._replies += 1
        every = PLAIN_INTERVAL if len(self._plain) < MIN_REPLIES else LATER_PLAIN_INTERVAL
        return self._replies % every == 0

    def observe(self, ttft_s: float, token_s: float, *, drafted: bool) -> None:
        """Record a completed reply: time to first token, and mean time of each token after it."""
        (self._drafted if drafted else self._plain).append((ttft_s, token_s))

    def pays(self, tokens: float) -> bool | None:
        """Return True if the draft shortens replies of this many tokens, or None if too few were measured."""
        if min(len(self._drafted), len(self._plain)) < MIN_REPLIES:
            return None
        ttft_s, token_s = _medians(self._drafted)
        plain_ttft_s, plain_token_s = _medians(self._plain)
        sooner = ttft_s + tokens * token_s < plain_ttft_s + tokens * plain_token_s
        return sooner and ttft_s <= MAX_TTFT * plain_ttft_s

    def reset(self) -> None:
        """Discard all measurements, which belong to another load."""
        self._drafted.clear()
        self._plain.clear()


def _medians(times: deque[tuple[float, float]]) -> tuple[float, float]:
    ttft_s, token_s = zip(*times, strict=True)
    # medians: a single reply delayed by a long prefill must not decide
    return median(ttft_s), median(token_s)
