"""Whether a draft ends replies sooner than they end without it, by what was measured of both. Pure.

Acceptance tells how often a draft is right, not what it costs: its own passes, and the longer steps of all
who are computed beside it. Therefore some replies go without it, in turn with the others, and the two are
compared.
"""

from __future__ import annotations

from collections import deque
from statistics import median

COMPARED = 16
"""Replies of each kind that are compared; before there are as many, nothing is known."""
KEPT = 48
"""How many of the newest replies of each kind are kept."""
PLAIN_EVERY, PLAIN_SELDOM = 3, 12
"""One in this many replies goes without the draft: until enough did, and then to keep up with the load."""
MAX_TTFT = 1.05
"""The first token may take at most so many times what it takes without a draft: what a caller waits for must
not pay for what comes later."""


class BreakEven:
    """Times of replies with and without a draft; seconds."""

    def __init__(self) -> None:
        self._with: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._without: deque[tuple[float, float]] = deque(maxlen=KEPT)
        self._replies = 0

    def wants_plain(self) -> bool:
        """Whether the next reply shall go without, for comparison; asked once for each."""
        self._replies += 1
        every = PLAIN_EVERY if len(self._without) < COMPARED else PLAIN_SELDOM
        return self._replies % every == 0

    def observe(self, ttft_s: float, token_s: float, *, drafted: bool) -> None:
        """A reply is over: its first token, and each token after that in the mean."""
        (self._with if drafted else self._without).append((ttft_s, token_s))

    def pays(self, tokens: float) -> bool | None:
        """Whether the draft pays for a reply of this many tokens; None where too few were measured."""
        if min(len(self._with), len(self._without)) < COMPARED:
            return None
        ttft_s, token_s = _medians(self._with)
        plain_ttft_s, plain_token_s = _medians(self._without)
        sooner = ttft_s + tokens * token_s < plain_ttft_s + tokens * plain_token_s
        return sooner and ttft_s <= MAX_TTFT * plain_ttft_s

    def forget(self) -> None:
        """Compare anew: what was measured is of another load."""
        self._with.clear()
        self._without.clear()


def _medians(times: deque[tuple[float, float]]) -> tuple[float, float]:
    ttft_s, token_s = zip(*times, strict=True)
    # medians: one reply beside a long prefill would decide for all
    return median(ttft_s), median(token_s)
