"""Trade-off between false cut-offs and latency by eot-bench's definitions.

Source: README and eot_harness/metrics.py of https://github.com/livekit/eot-bench. A policy ends the turn in a
pause once the probability exceeds a threshold, but not before a delay, and in any case after a time-out. All
policies of a grid are evaluated; the best one within a budget counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from voiceagent.scores.statistics import EPSILON

THRESHOLDS = tuple(index / 100 for index in range(101))
DELAYS_S = tuple(index / 10 for index in range(2, 11))
TIMEOUTS_S = tuple(index / 2 for index in range(2, 8))
MIN_PAUSE_S, MAX_PAUSE_S = 0.2, 5.0
"""Range of the pauses within a turn that count."""

Floats = NDArray[np.float64]


class Judgement(NamedTuple):
    """The probability that the turn is over, `after_s` seconds into a pause."""

    after_s: float
    probability: float


@dataclass(frozen=True, slots=True)
class Pause:
    """A silence of the caller. ends_turn: it follows the caller's last word. judgements: in order of time.

    decided_s: seconds into the pause at which the server ended the turn; None if it did not.
    """

    seconds: float
    ends_turn: bool
    judgements: tuple[Judgement, ...] = ()
    decided_s: float | None = None

    @property
    def counts(self) -> bool:
        """True if it ends a turn, or is of a length that counts."""
        return self.ends_turn or MIN_PAUSE_S - EPSILON <= self.seconds <= MAX_PAUSE_S + EPSILON


@dataclass(frozen=True, slots=True)
class PolicySums:
    """Results of all policies in one call. cut_offs [p]: how many of the `within` pauses within turns ended
    the turn. latencies_s [p]: total silence before the `ends` true ends of turns.
    """

    cut_offs: Floats
    within: int
    latencies_s: Floats
    ends: int


@dataclass(frozen=True, slots=True)
class OperatingPoints:
    """Results of all policies. cut_off [p]: share of pauses within turns that ended the turn. latency_s [p]:
    mean silence before true ends of turns.
    """

    cut_off: Floats
    latency_s: Floats


def policy_sums(pauses: Sequence[Pause]) -> PolicySums:
    """Evaluate all policies on the pauses of a call; on none if no pause was judged."""
    if not any(pause.judgements for pause in pauses):
        nothing = np.zeros(len(THRESHOLDS) * len(DELAYS_S) * len(TIMEOUTS_S))
        return PolicySums(nothing, 0, nothing, 0)
    within = [pause for pause in pauses if pause.counts and not pause.ends_turn]
    ends = [pause for pause in pauses if pause.ends_turn]
    lengths_s = np.array([pause.seconds for pause in within])
    delays_s, timeouts_s = np.array(DELAYS_S)[:, None, None], np.array(TIMEOUTS_S)[:, None]
    cut_offs, latencies_s = [], []
    for threshold in THRESHOLDS:
        within_fire_s, ends_fire_s = _first_above(within, threshold), _first_above(ends, threshold)
        # [delay, timeout, pause]; no timeout is shorter than a delay
        acts_s = np.minimum(np.maximum(delays_s, within_fire_s), timeouts_s)
        cut_offs.append(np.count_nonzero(lengths_s > acts_s + EPSILON, axis=2).ravel())
        latencies_s.append(np.minimum(np.maximum(delays_s, ends_fire_s), timeouts_s).sum(axis=2).ravel())
    return PolicySums(
        np.concatenate(cut_offs, dtype=np.float64), len(within), np.concatenate(latencies_s), len(ends)
    )


def operating_points(calls: Sequence[PolicySums]) -> OperatingPoints | None:
    """Return the results over calls; None unless these have pauses within turns and at their ends."""
    within, ends = sum(call.within for call in calls), sum(call.ends for call in calls)
    if not within or not ends:
        return None
    cut_offs = np.sum([call.cut_offs for call in calls], axis=0)
    latencies_s = np.sum([call.latencies_s for call in calls], axis=0)
    return OperatingPoints(cut_offs / within, latencies_s / ends)


def cut_off_within(points: OperatingPoints | None, latency_s: float) -> float | None:
    """Return the lowest share of false cut-offs with at most this latency; None if no policy is so fast."""
    if points is None:
        return None
    return _lowest(points.cut_off[points.latency_s <= latency_s + EPSILON])


def latency_within(points: OperatingPoints | None, cut_off: float) -> float | None:
    """Return the lowest latency in seconds with at most this share of false cut-offs; None if none has."""
    if points is None:
        return None
    return _lowest(points.latency_s[points.cut_off <= cut_off + EPSILON])


def _lowest(values: Floats) -> float | None:
    return float(values.min()) if len(values) else None


def _first_above(pauses: Sequence[Pause], threshold: float) -> Floats:
    """Return the times at which the probability first exceeds the threshold; infinity for never."""
    times_s = (
        next((after_s for after_s, probability in pause.judgements if probability > threshold), np.inf)
        for pause in pauses
    )
    return np.fromiter(times_s, np.float64, len(pauses))
