"""The latency ledger: turns the stamps of one turn, all on one monotonic clock, into stages that sum to the
whole.

Times are whole microseconds, so that sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from voiceagent.conversation.causes import InterruptedBy, TurnEndCode
from voiceagent.conversation.end_of_turn.probability import EndOfTurn

Stamp = Literal[
    "speech_end",
    "turn_decided",
    "transcript_final",
    "tool_called",
    "tools_done",
    "llm_request",
    "first_token",
    "thoughts_end",
    "first_fragment",
    "first_sound",
    "first_frame",
    "played",
]
"""Moments of a turn, in pipeline order.

speech_end: last voiced sample of the caller. turn_decided: end of the turn detected. transcript_final: final
transcript. tool_called, tools_done: of a response about tool results, the first call and the last result.
llm_request, first_token, first_fragment: request sent, first token received, first fragment speakable.
thoughts_end: of a reasoning model, the first text or call; its first_token is part of a thought. first_sound:
first audio from the synthesizer. first_frame: first frame accepted by the transport. played: playback began
at the client, if known.
"""
Moment = Stamp | Literal["text_complete"]
"""Stamps, and one that ends no stage: text_complete, the LLM has written the whole response."""
StageName = Literal[
    "endpointing",
    "recognition",
    "tool_call",
    "tools",
    "request",
    "llm_ttft",
    "thinking",
    "fragmenting",
    "synthesis",
    "playout",
    "network",
]
"""The interval between each stamp and the one before it."""
Outcome = Literal["completed", "interrupted", "false_end", "failed", "hung_up", "hung_up_unheard"]
"""false_end: the caller had not finished and resumed the turn. hung_up, hung_up_unheard: the call ended
during the response's audio, or before its first audio.
"""

STAMPS: tuple[Stamp, ...] = get_args(Stamp)
STAGES: tuple[StageName, ...] = get_args(StageName)
_STAGE_UNTIL: dict[Stamp, StageName] = dict(zip(STAMPS[1:], STAGES, strict=True))
TOOL_STAGES: frozenset[StageName] = frozenset(("tool_call", "tools"))
"""Stages of turns with tools only. They have no budget and do not count in the total's."""
UNBUDGETED_STAGES = TOOL_STAGES | frozenset[StageName](("thinking",))
"""Stages without a budget of their own. Thinking counts in the budget of the whole turn."""
_AUDIBLE: frozenset[StageName] = frozenset(("playout", "network"))
"""Stages that end with audio: if a response has neither, no audio was sent."""
_AHEAD: frozenset[StageName] = frozenset(("llm_ttft", "thinking", "fragmenting", "synthesis"))
"""Stages that a preemptive response can pass before the turn is decided; in the others it waits."""
_US = 1_000_000


@dataclass(frozen=True, slots=True)
class LatencyBudget:
    """Maximum seconds of each stage, and of a turn from `speech_end` on; missing ones have no limit."""

    stages: Mapping[StageName, float] = field(default_factory=dict)
    total_s: float | None = None


@dataclass(frozen=True, slots=True)
class StageTime:
    """Contribution of one stage to the caller's wait, in microseconds, and its budget.

    hidden_us: time it worked before the turn was decided, which cost the caller nothing.
    """

    name: StageName
    duration_us: int
    budget_s: float | None = None
    hidden_us: int = 0

    @property
    def duration_s(self) -> float:
        return self.duration_us / _US

    @property
    def over_budget(self) -> bool:
        """True if it exceeded its budget."""
        return self.budget_s is not None and self.duration_us > _microseconds(self.budget_s)


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """Costs of a turn other than time.

    preemptive_attempts, preemptive_hits: responses begun before the turn's end, and those used.
    tokens_wasted: tokens of preemptive responses that were dropped.
    prompt_tokens, cached_tokens: tokens of the response's prompt, and those found in the prefix cache.
    prompt_tokens_after_turn: prompt tokens that the LLM had to read after the turn's end.
    thought_tokens: tokens of the response's thoughts.
    """

    preemptive_attempts: int = 0
    preemptive_hits: int = 0
    tokens_wasted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    prompt_tokens_after_turn: int = field(default=0, metadata={"formerly": "prefilled_tokens"})
    thought_tokens: int = 0

    def __add__(self, more: TurnCounts) -> TurnCounts:
        return TurnCounts(*(getattr(self, one.name) + getattr(more, one.name) for one in fields(self)))


@dataclass(frozen=True, slots=True)
class TurnReport:
    """Durations of one turn.

    stages: in pipeline order; if a stamp is missing, its stage is left out, and the next one includes its
    time. over_budget: names of stages over budget, then "total" if the whole was. budget_s: of the whole,
    None without a limit. end_of_turn: the decision that ended the turn, None if not semantic. response_id: of
    the response. moments_us: all stamps, in microseconds of the clock. end_code: the rule that ended the
    caller's turn, "" if the response answers none. interrupted_by: what cut the response, "" for nothing.
    """

    turn_id: str
    outcome: Outcome
    stages: tuple[StageTime, ...]
    over_budget: tuple[StageName | Literal["total"], ...]
    counts: TurnCounts
    budget_s: float | None = None
    end_of_turn: EndOfTurn | None = None
    response_id: str = ""
    moments_us: tuple[tuple[Moment, int], ...] = ()
    end_code: TurnEndCode = ""
    interrupted_by: InterruptedBy = ""

    @property
    def recorded(self) -> bool:
        """True if the turn is recorded and traced with its call. If the caller hung up before its first
        audio, only its outcome and cost are counted.
        """
        return self.outcome != "hung_up_unheard"

    @property
    def wait_us(self) -> int | None:
        """The caller's wait, from their last voiced sample to the agent's first audio. None if the response
        answers no speech, or has no audio: its text, or a later response, is what they wait for.
        """
        return wait_us([(stage.name, stage.duration_us) for stage in self.stages])

    @property
    def audible(self) -> bool:
        """True if audio of the response was sent."""
        return bool(self.stages) and self.stages[-1].name in _AUDIBLE

    @property
    def total_us(self) -> int:
        """First stamp to last: exactly the sum of the stages."""
        return sum(stage.duration_us for stage in self.stages)

    @property
    def total_s(self) -> float:
        return self.total_us / _US

    @property
    def hidden_us(self) -> int:
        """Time that all stages worked on the response before the turn was decided."""
        return sum(stage.hidden_us for stage in self.stages)

    @property
    def hidden_s(self) -> float:
        """`hidden_us` in seconds."""
        return self.hidden_us / _US


def wait_us(stages: Sequence[tuple[str, int]]) -> int | None:
    """Return the caller's wait of a response, as `TurnReport.wait_us`. stages: names and microseconds."""
    if not stages or stages[0][0] != "endpointing" or stages[-1][0] not in _AUDIBLE:
        return None
    return sum(duration_us for _, duration_us in stages)


def as_json(report: TurnReport) -> dict[str, Any]:
    """Return the payload of `voiceagent.latency` without its envelope, in milliseconds.

    wait_ms: the caller's wait, None as in `TurnReport.wait_us`. total_ms: the sum of the stages.
    """
    decision, wait = report.end_of_turn, report.wait_us
    return {
        "turn_id": report.turn_id,
        "outcome": report.outcome,
        "interrupted_by": report.interrupted_by or None,
        "end_code": report.end_code or None,
        "wait_ms": None if wait is None else wait / 1000,
        "total_ms": report.total_us / 1000,
        "budget_ms": None if report.budget_s is None else report.budget_s * 1000,
        "hidden_ms": report.hidden_us / 1000,
        "stages": [
            {
                "name": stage.name,
                "ms": stage.duration_us / 1000,
                "budget_ms": None if stage.budget_s is None else stage.budget_s * 1000,
                "hidden_ms": stage.hidden_us / 1000,
            }
            for stage in report.stages
        ],
        "over_budget": list(report.over_budget),
        "counts": asdict(report.counts),
        "end_of_turn": None if decision is None else decision.as_json(),
    }


class TurnLedger:
    """Collector of the stamps of one turn."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._stamps_us: dict[Moment, int] = {}

    def has(self, name: Moment) -> bool:
        """Return True if `name` has been stamped."""
        return name in self._stamps_us

    def stamp(self, name: Moment, at_s: float) -> None:
        """Record that `name` happened at `at_s`, monotonic seconds. Only the first time counts."""
        # the caller waits for the first frame and token only
        self._stamps_us.setdefault(name, _microseconds(at_s))

    def report(self, budget: LatencyBudget, outcome: Outcome, counts: TurnCounts | None = None) -> TurnReport:
        """Return the stages so far. The total's budget applies to turns that have a `speech_end`."""
        stages = self._stages(budget)
        over: list[StageName | Literal["total"]] = [stage.name for stage in stages if stage.over_budget]
        total_us = sum(stage.duration_us for stage in stages if stage.name not in TOOL_STAGES)
        total_s = budget.total_s if "speech_end" in self._stamps_us else None
        if total_s is not None and total_us > _microseconds(total_s):
            over.append("total")
        moments = tuple(self._stamps_us.items())
        return TurnReport(
            self.turn_id,
            outcome,
            tuple(stages),
            tuple(over),
            counts or TurnCounts(),
            total_s,
            moments_us=moments,
        )

    def hung_up(self, budget: LatencyBudget, counts: TurnCounts | None = None) -> TurnReport:
        """Return the report of a response during which the call ended. It has no stages if no audio was
        played, because the caller's wait is then unknown.
        """
        if self.has("first_frame"):
            return self.report(budget, "hung_up", counts)
        return replace(self.report(budget, "hung_up_unheard", counts), stages=(), over_budget=())

    def _stages(self, budget: LatencyBudget) -> list[StageTime]:
        """Return the stages, each counted from the latest stamp before it: earlier work delayed nothing."""
        stages: list[StageTime] = []
        stamped = [(name, self._stamps_us[name]) for name in STAMPS if name in self._stamps_us]
        latest_us = previous_us = stamped[0][1] if stamped else 0
        for name, at_us in stamped[1:]:
            stage = _STAGE_UNTIL[name]
            hidden_us = max(0, min(at_us, latest_us) - previous_us) if stage in _AHEAD else 0
            stages.append(StageTime(stage, max(0, at_us - latest_us), budget.stages.get(stage), hidden_us))
            # preemptive work is stamped before the turn's end: its stages must not count that time twice
            latest_us, previous_us = max(latest_us, at_us), at_us
        return stages


def percentile(values: Iterable[float], percent: float) -> float:
    """Return the smallest value that at least `percent` per cent of all values do not exceed (nearest rank).

    Raises ValueError without values, or unless 0 < percent <= 100.
    """
    ordered = sorted(values)
    if not ordered:
        raise ValueError("a percentile needs at least one value")
    if not 0 < percent <= 100:
        raise ValueError(f"percent is {percent}; allowed: more than 0, at most 100")
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def _microseconds(seconds: float) -> int:
    return round(seconds * _US)
