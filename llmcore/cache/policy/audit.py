"""Whether the cache still says what the model would say and is worth asking, and when it must stop. Pure."""

from __future__ import annotations

from collections import deque

from llmcore.cache.policy.facts import facts

AGREES = 0.8
"""The least score of two replies that say the same."""
WINDOW = 20
MIN_AUDITS = 3
"""Audits before a verdict."""
LOOK_UPS = 200
"""How many look-ups are judged together: with fewer, a cache that has just begun to fill would be turned off.
"""


def agreement(stored: str, fresh: str, cosine: float) -> float:
    """How far two replies to one question agree, 0 to 1; cosine: of their embeddings.

    0 where each has a number or a date that the other lacks, or only one of them negates. Otherwise the part
    of their words or of their meaning that they share, whichever is more: one may say more than the other.
    """
    one, other = facts(stored), facts(fresh)
    contradict = any(
        a - b and b - a for a, b in ((set(one.numbers), set(other.numbers)), (one.dates, other.dates))
    )
    if contradict or bool(one.negations) != bool(other.negations):
        return 0.0
    everything = one.words | other.words
    shared = len(one.words & other.words) / len(everything) if everything else 1.0
    return max(0.0, min(1.0, max(shared, cosine)))


class AuditWindow:
    """The latest audits. floor: the least share of them that must agree, 0 to 1."""

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._agreed: deque[bool] = deque(maxlen=WINDOW)

    def take(self, agreed: bool) -> bool:
        """Take in an audit; whether the cache must stop. Then the window is empty, for another try."""
        self._agreed.append(agreed)
        if len(self._agreed) < MIN_AUDITS or sum(self._agreed) >= self._floor * len(self._agreed):
            return False
        self._agreed.clear()
        return True


class HitWindow:
    """The latest look-ups. min_hits: the least share of them that must be answered, 0 to 1."""

    def __init__(self, min_hits: float) -> None:
        self._min_hits = min_hits
        self._hits: deque[bool] = deque(maxlen=LOOK_UPS)

    def take(self, hit: bool) -> bool:
        """Take in a look-up; whether the cache costs more than it saves. Then the window is empty."""
        self._hits.append(hit)
        if len(self._hits) < LOOK_UPS or sum(self._hits) >= self._min_hits * LOOK_UPS:
            return False
        self._hits.clear()
        return True


class Switch:
    """Whether the cache answers, or why it does not: it is off for a while, then tried again."""

    def __init__(self) -> None:
        self._reason = ""
        self._until_s = 0.0

    def off(self, reason: str, until_s: float) -> None:
        """Off until then, unless it is off for longer already."""
        if until_s > self._until_s:
            self._reason, self._until_s = reason, until_s

    def why_off(self, now_s: float) -> str:
        """The reason; "" where the cache is on."""
        return self._reason if now_s < self._until_s else ""
