"""The load that an engine reports, for metrics, alarms and the policy of speculation.

No request needs it: an engine without it is measured from outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

STEP_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0)
"""Upper bounds of the histogram of step times; one more bucket counts longer steps."""
STEP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
"""Upper bounds of the histograms of tokens and sequences a step."""


@dataclass(frozen=True, slots=True)
class Steps:
    """Statistics of an engine's steps since its start, and the current limits.

    The first three are histograms: the counts of each bucket, and then the sum.

    Attributes:
        seconds: duration of a step.
        tokens: tokens computed in a step.
        sequences: replies in decoding or in prefill in a step.
        max_tokens: limit of the next step.
        max_sequences: limit of the next step.
    """

    seconds: tuple[float, ...]
    tokens: tuple[float, ...]
    sequences: tuple[float, ...]
    max_tokens: int
    max_sequences: int


@dataclass(frozen=True, slots=True)
class Eviction:
    """Blocks evicted from the prefix cache.

    Attributes:
        of: class of the request that computed them.
        by: class of the request that needed room.
        whose: "own" if one caller made both, else "other".
        blocks: their number.
    """

    of: str
    by: str
    whose: str
    blocks: int


@dataclass(frozen=True, slots=True)
class EngineLoad:
    """An engine's own report; None where it reports nothing. Counters are since its start.

    Attributes:
        running: requests that are computed.
        waiting: requests in the engine's queue.
        cache_usage: share of the cache in use, 0 to 1.
        preemptions: replies put back to make room.
        drafts: proposals of speculation.
        drafted: tokens proposed.
        accepted: tokens accepted.
        accepted_at: tokens accepted by their position in a proposal.
        steps: statistics of the engine's steps.
        evictions: blocks evicted from the prefix cache.
    """

    running: int = 0
    waiting: int = 0
    cache_usage: float | None = None
    preemptions: int | None = None
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_at: tuple[int, ...] = ()
    steps: Steps | None = None
    evictions: tuple[Eviction, ...] = ()


@runtime_checkable
class ReportsLoad(Protocol):
    """An engine that reports its load; other engines are only measured from outside."""

    def load(self) -> EngineLoad:
        """Return the current load. Cheap; never raises."""
        ...
