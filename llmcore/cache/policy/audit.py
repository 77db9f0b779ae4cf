"""Quality control of the semantic cache: compares stored and new replies, decides when to turn it off."""

from __future__ import annotations

from collections import deque

from llmcore.cache.policy.facts import facts

AGREES = 0.8
"""Smallest agreement at which two replies count as the same."""
WINDOW = 20
MIN_AUDITS = 3
"""Audits needed for a verdict."""
LOOK_UPS = 200
"""Lookups judged together. With fewer, a cache that has just begun to fill would be turned off."""


def agreement(stored: str, fresh: str, cosine: float) -> float:
    """Return the agreement of two replies to one question, 0 to 1. cosine: of their embeddings.

    0 if each has a number or date that the other lacks, or if only one negates. Otherwise the larger of word
    overlap and cosine, as one reply may say more than the other.
    """
    one, other = facts(stored), facts(fresh)
    pairs = ((set(one.numbers), set(other.numbers)), (set(one.dates), set(other.dates)))
    contradict = any(a - b and b - a for a, b in pairs)
    if contradict or bool(one.negations) != bool(other.negations):
        return 0.0
    words, others = set(one.words), set(other.words)
    shared = len(words & others) / len(words | others) if words | others else 1.0
    return max(0.0, min(1.0, max(shared, cosine)))


class AuditWindow:
    """The latest audits. floor: smallest share that must agree, 0 to 1."""

    def __init__(self, floor: float) -> None:
        self._floor = floor
        self._agreed: deque[bool] = deque(maxlen=WINDOW)

    def add(self, agreed: bool) -> bool:
        """Record an audit. Return True, and clear the window, if the cache must be turned off."""
        self._agreed.append(agreed)
        if len(self._agreed) < MIN_AUDITS or sum(self._agreed) >= self._floor * len(self._agreed):
            return False
        self._agreed.clear()
        return True


class HitWindow:
    """The latest lookups. min_hits: smallest share that must hit, 0 to 1."""

    def __init__(self, min_hits: float) -> None:
        self._min_hits = min_hits
        self._hits: deque[bool] = deque(maxlen=LOOK_UPS)

    def add(self, hit: bool) -> bool:
        """Record a lookup. Return True, and clear the window, if the cache costs more than it saves."""
        self._hits.append(hit)
        if len(self._hits) < LOOK_UPS or sum(self._hits) >= self._min_hits * LOOK_UPS:
            return False
        self._hits.clear()
        return True


class Switch:
    """Off state of the cache, with its reason and its end."""

    def __init__(self) -> None:
        self._reason = ""
        self._until_s = 0.0

    def turn_off(self, reason: str, until_s: float) -> None:
        """Turn the cache off until then, unless it is off for longer already."""
        if until_s > self._until_s:
            self._reason, self._until_s = reason, until_s

    def why_off(self, now_s: float) -> str:
        """Return the reason, or "" if the cache is on."""
        return self._reason if now_s < self._until_s else ""
