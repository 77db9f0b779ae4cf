"""What came of recordings in calls, and the figures it adds up to. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from voiceagent.bench.people.material import Clip
from voiceagent.bench.people.words import WordErrors, word_errors
from voiceagent.bench.voiced import EARLY_S
from voiceagent.conversation.latency import percentile

HEARD_S = 0.1
"""How much sound a caller hears as the agent's; less is a click that was cut."""


@dataclass(frozen=True, slots=True)
class AgentSound:
    """Sound of the agent's: from when on, and for how long."""

    begin_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one recording; times are seconds from its beginning.

    decided_s: when each turn was taken to be over; None where that can't be told from outside. sounds: what
    the agent said, in pieces without a gap. texts: the words of each turn, where they were told.
    """

    clip: Clip
    decided_s: tuple[float, ...] | None
    sounds: tuple[AgentSound, ...]
    texts: tuple[str, ...] | None
    failures: tuple[str, ...] = ()

    @property
    def turns(self) -> int:
        """How many turns the recording was taken for; where that is not told, how often the agent spoke."""
        return len(self._heard if self.decided_s is None else self.decided_s)

    @property
    def is_false_start(self) -> bool:
        """Whether the agent was heard before the caller's last voiced sample."""
        return any(sound.begin_s < self.clip.voice_end_s for sound in self._heard)

    @property
    def is_cut_off(self) -> bool:
        """Whether a turn was taken to be over before that."""
        if self.decided_s is None:
            return self.is_false_start
        return any(at_s < self.clip.voice_end_s - EARLY_S for at_s in self.decided_s)

    @property
    def wait_s(self) -> float | None:
        """From the last voiced sample to the first sound after it; None where none is, or it overlaps."""
        end_s = self.clip.voice_end_s
        begins = [sound.begin_s for sound in self._heard if sound.begin_s >= end_s]
        over = any(sound.begin_s < end_s < sound.begin_s + sound.seconds for sound in self._heard)
        return None if over or not begins else min(begins) - end_s

    @property
    def decision_s(self) -> float | None:
        """From the last voiced sample to the first decision after it; None where there was none."""
        after = [at_s for at_s in self.decided_s or () if at_s >= self.clip.voice_end_s - EARLY_S]
        return min(after) - self.clip.voice_end_s if after else None

    @property
    def word_errors(self) -> WordErrors | None:
        """None where nobody wrote down what is said, or the words were not told."""
        if self.clip.text is None or self.texts is None:
            return None
        return word_errors(self.clip.text, " ".join(self.texts))

    @property
    def _heard(self) -> list[AgentSound]:
        return [sound for sound in self.sounds if sound.seconds >= HEARD_S]


@dataclass(frozen=True, slots=True)
class Figures:
    """What recordings of one kind add up to; times in milliseconds, parts from 0 to 1.

    split: part that was taken for more than one turn. extra_turns: turns too many. cut_off, false_starts:
    parts, as `Outcome` has them. waits_ms, decisions_ms: of the recordings that have one.
    """

    clips: int
    split: float
    extra_turns: int
    cut_off: float
    false_starts: float
    unanswered: int
    waits_ms: tuple[float, ...]
    decisions_ms: tuple[float, ...]
    words: WordErrors

    def as_json(self) -> dict[str, float | int | None]:
        """The figures by name, for machines."""
        return {
            "recordings": self.clips,
            "more than one turn": self.split,
            "turns too many": self.extra_turns,
            "cut off": self.cut_off,
            "false starts": self.false_starts,
            "unanswered": self.unanswered,
            **_percentiles("wait", self.waits_ms),
            **_percentiles("decision", self.decisions_ms),
            "words": self.words.words,
            "words wrong": self.words.errors,
            "word error rate": self.words.rate if self.words.words else None,
        }


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """What outcomes add up to; turns only of recordings that are one turn."""
    of_turns = [outcome for outcome in outcomes if outcome.clip.is_one_turn]
    count = max(1, len(of_turns))
    errors = [outcome.word_errors for outcome in outcomes]
    return Figures(
        clips=len(outcomes),
        split=sum(outcome.turns > 1 for outcome in of_turns) / count,
        extra_turns=sum(max(0, outcome.turns - 1) for outcome in of_turns),
        cut_off=sum(outcome.is_cut_off for outcome in of_turns) / count,
        false_starts=sum(outcome.is_false_start for outcome in of_turns) / count,
        unanswered=sum(outcome.turns == 0 for outcome in of_turns),
        waits_ms=_milliseconds(outcome.wait_s for outcome in of_turns),
        decisions_ms=_milliseconds(outcome.decision_s for outcome in of_turns),
        words=sum((found for found in errors if found is not None), WordErrors(0, 0)),
    )


def by_kind(outcomes: Sequence[Outcome]) -> dict[str, Figures]:
    """The figures of each kind, in the order in which the kinds come, then of all that are one turn."""
    kinds = dict.fromkeys(outcome.clip.kind for outcome in outcomes)
    found: dict[str, Figures] = {
        kind: figures([outcome for outcome in outcomes if outcome.clip.kind == kind]) for kind in kinds
    }
    return found | {"all of one turn": figures([outcome for outcome in outcomes if outcome.clip.is_one_turn])}


@dataclass(frozen=True, slots=True)
class Point:
    """One way of operating: how many turns are cut off, part, and how long callers wait, mean, ms."""

    name: str
    cut_off: float
    wait_ms: float


def operating_point(name: str, outcomes: Sequence[Outcome]) -> Point:
    """The point of all recordings that are one turn; the wait is the one for the decision."""
    all_of_them = figures([outcome for outcome in outcomes if outcome.clip.is_one_turn])
    waits = all_of_them.decisions_ms or all_of_them.waits_ms or (float("nan"),)
    return Point(name, all_of_them.cut_off, sum(waits) / len(waits))


def cut_off_at(points: Sequence[Point], wait_ms: float) -> float | None:
    """The cut-offs of a system that waits so long, between its operating points; None beyond them.

    As in LiveKit's eot-bench, on other recordings: the figures are not comparable with those it publishes.
    """
    return _between([(point.wait_ms, point.cut_off) for point in points], wait_ms)


def wait_at(points: Sequence[Point], cut_off: float) -> float | None:
    """How long a system waits, ms, that cuts off such a part; as `cut_off_at`."""
    return _between([(point.cut_off, point.wait_ms) for point in points], cut_off)


def alike(some: Sequence[Outcome], others: Sequence[Outcome]) -> int:
    """How many recordings were taken for as many turns both times, and answered as early or not."""
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
