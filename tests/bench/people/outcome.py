"""Outcomes of recordings in calls, and their summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from people.material import Clip
from voiceagent.bench.speech import EARLY_S
from voiceagent.conversation.latency import percentile
from voiceagent.scores.word_errors import WordErrors, word_errors

HEARD_S = 0.1
"""Minimum audio of the agent that is heard; less is a click."""


@dataclass(frozen=True, slots=True)
class AgentSound:
    """A stretch of the agent's audio."""

    begin_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of one recording; times are seconds from its start.

    decided_s: when each turn was decided; None if it is not observable. sounds: the agent's audio without its
    gaps. texts: transcript of each turn, if reported.
    """

    clip: Clip
    decided_s: tuple[float, ...] | None
    sounds: tuple[AgentSound, ...]
    texts: tuple[str, ...] | None
    failures: tuple[str, ...] = ()

    @property
    def turns(self) -> int:
        """Number of turns detected; if that is not reported, how often the agent spoke."""
        return len(self._heard if self.decided_s is None else self.decided_s)

    @property
    def is_false_start(self) -> bool:
        """True if the agent was heard before the caller's last voiced sample."""
        return any(sound.begin_s < self.clip.voice_end_s for sound in self._heard)

    @property
    def wrong_answer_s(self) -> float:
        """Seconds for which the agent was heard in responses that began before the caller's last voiced
        sample.
        """
        return sum(sound.seconds for sound in self.sounds if sound.begin_s < self.clip.voice_end_s)

    @property
    def is_cut_off(self) -> bool:
        """True if a turn was decided before the caller's last voiced sample."""
        if self.decided_s is None:
            return self.is_false_start
        return any(at_s < self.clip.voice_end_s - EARLY_S for at_s in self.decided_s)

    @property
    def wait_s(self) -> float | None:
        """Time from the last voiced sample to the next audio; None without any, or if it overlaps."""
        end_s = self.clip.voice_end_s
        begins = [sound.begin_s for sound in self._heard if sound.begin_s >= end_s]
        over = any(sound.begin_s < end_s < sound.begin_s + sound.seconds for sound in self._heard)
        return None if over or not begins else min(begins) - end_s

    @property
    def decision_s(self) -> float | None:
        """Time from the last voiced sample to the next decision; None without any."""
        after = [at_s for at_s in self.decided_s or () if at_s >= self.clip.voice_end_s - EARLY_S]
        return min(after) - self.clip.voice_end_s if after else None

    @property
    def word_errors(self) -> WordErrors | None:
        """Word errors; None without a reference or a transcript."""
        if self.clip.text is None or self.texts is None:
            return None
        return word_errors(self.clip.text, " ".join(self.texts))

    @property
    def _heard(self) -> list[AgentSound]:
        return [sound for sound in self.sounds if sound.seconds >= HEARD_S]


@dataclass(frozen=True, slots=True)
class Figures:
    """Summary of recordings of one kind; times in milliseconds, shares from 0 to 1.

    split: share with more than one turn. extra_turns: surplus turns. cut_off, false_starts: shares, see
    `Outcome`. wrong_answer_s: mean of a recording, see `Outcome`. waits_ms, decisions_ms: of the recordings
    that have one.
    """

    clips: int
    split: float
    extra_turns: int
    cut_off: float
    false_starts: float
    wrong_answer_s: float
    unanswered: int
    waits_ms: tuple[float, ...]
    decisions_ms: tuple[float, ...]
    words: WordErrors

    def as_json(self) -> dict[str, float | int | None]:
        """Return the figures by name."""
        return {
            "recordings": self.clips,
            "more than one turn": self.split,
            "turns too many": self.extra_turns,
            "cut off": self.cut_off,
            "false starts": self.false_starts,
            "wrong answer heard s": self.wrong_answer_s,
            "unanswered": self.unanswered,
            **_percentiles("wait", self.waits_ms),
            **_percentiles("decision", self.decisions_ms),
            "words": self.words.words,
            "words wrong": self.words.errors,
            "word error rate": self.words.rate if self.words.words else None,
        }


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Summarize outcomes; turns count only for recordings of one turn."""
    of_turns = [outcome for outcome in outcomes if outcome.clip.is_one_turn]
    count = max(1, len(of_turns))
    errors = [outcome.word_errors for outcome in outcomes]
    return Figures(
        clips=len(outcomes),
        split=sum(outcome.turns > 1 for outcome in of_turns) / count,
        extra_turns=sum(max(0, outcome.turns - 1) for outcome in of_turns),
        cut_off=sum(outcome.is_cut_off for outcome in of_turns) / count,
        false_starts=sum(outcome.is_false_start for outcome in of_turns) / count,
        wrong_answer_s=sum(outcome.wrong_answer_s for outcome in of_turns) / count,
        unanswered=sum(outcome.turns == 0 for outcome in of_turns),
        waits_ms=_milliseconds(outcome.wait_s for outcome in of_turns),
        decisions_ms=_milliseconds(outcome.decision_s for outcome in of_turns),
        words=sum((found for found in errors if found is not None), WordErrors(0, 0)),
    )


def by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """Return the figures of each kind, in order of appearance, then of all recordings of one turn."""
    kinds = dict.fromkeys(outcome.clip.kind for outcome in outcomes)
    found: dict[str, Figures] = {
        kind: figures([outcome for outcome in outcomes if outcome.clip.kind == kind]) for kind in kinds
    }
    return found | {"all of one turn": figures([outcome for outcome in outcomes if outcome.clip.is_one_turn])}


@dataclass(frozen=True, slots=True)
class Point:
    """An operating point: share of turns cut off, and mean wait in ms."""

    name: str
    cut_off: float
    wait_ms: float


def operating_point(name: str, outcomes: Sequence[Outcome]) -> Point:
    """Return a system's point, over the recordings that are one turn. The wait ends at the decision that the
    turn is over, or where a system reports none, at the answer.
    """
    all_of_them = figures([outcome for outcome in outcomes if outcome.clip.is_one_turn])
    waits = all_of_them.decisions_ms or all_of_them.waits_ms or (float("nan"),)
    return Point(name, all_of_them.cut_off, sum(waits) / len(waits))


def cut_off_at(points: Sequence[Point], wait_ms: float) -> float | None:
    """Interpolate the share cut off by a system at this wait; None outside its operating points.

    As in LiveKit's eot-bench, but on other recordings: not comparable with its published figures.
    """
    return _between([(point.wait_ms, point.cut_off) for point in points], wait_ms)


def wait_at(points: Sequence[Point], cut_off: float) -> float | None:
    """Interpolate the wait in ms of a system that cuts off this share; see `cut_off_at`."""
    return _between([(point.cut_off, point.wait_ms) for point in points], cut_off)


def alike(some: Sequence[Outcome], others: Sequence[Outcome]) -> int:
    """Count the recordings with the same number of turns and the same `is_false_start` in both."""
    return sum(
        (one.turns, one.is_false_start) == (other.turns, other.is_false_start)
        for one, other in zip(some, others, strict=False)
    )


def _between(pairs: Iterable[tuple[float, float]], at: float) -> float | None:
    ordered = sorted(pairs)
    for (left, low), (right, high) in pairwise(ordered):
        if left <= at <= right:
            return low if right == left else low + (high - low) * (at - left) / (right - left)
    return None


def _milliseconds(times_s: Iterable[float | None]) -> tuple[float, ...]:
    return tuple(at_s * 1000 for at_s in times_s if at_s is not None)


def _percentiles(name: str, times_ms: Sequence[float]) -> dict[str, float | int | None]:
    return {f"{name} p{rank} ms": percentile(times_ms, rank) if times_ms else None for rank in (50, 95)}
