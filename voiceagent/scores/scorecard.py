"""Scores of calls, with counts and 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voiceagent.scores.end_of_turn import (
    OperatingPoints,
    Pause,
    cut_off_within,
    latency_within,
    operating_points,
    policy_sums,
)
from voiceagent.scores.interaction import (
    PRECISE_TICK_S,
    TAU_VOICE_TICK_S,
    CallerSpeech,
    EventKind,
    InteractionEvent,
    interaction_events,
)
from voiceagent.scores.spans import Span
from voiceagent.scores.statistics import Indices, Interval, bootstrap, wilson
from voiceagent.scores.word_errors import WordErrors

Unit = Literal["s", "share", "per turn"]
Source = Literal["tau-voice", "voice-agent-latency", "eot-bench", "jiwer", "here"]
Floats = NDArray[np.float64]
EARLY_S = 0.05
"""A turn that ended less than this before the caller resumed is not cut off: positions are no more exact."""


NO_WORDS = WordErrors(0, 0)


@dataclass(frozen=True, slots=True)
class CallSpeech:
    """Speech of one call of `seconds`. agent: spans of its speech. words: errors of the transcripts.
    waits_s: the caller's waits as the server measured them.
    """

    call_id: str
    seconds: float
    caller: tuple[CallerSpeech, ...]
    agent: tuple[Span, ...]
    pauses: tuple[Pause, ...] = ()
    words: WordErrors = NO_WORDS
    waits_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One score. source: of its definition. count: events that it is computed from. interval: None if it
    cannot be computed. on_ticks: the value in ticks of 200 ms, as tau-voice computes it; None for others.
    """

    source: Source
    name: str
    unit: Unit
    value: float | None
    count: int
    interval: Interval | None
    on_ticks: float | None = None


def scorecard(calls: Sequence[CallSpeech]) -> list[Figure]:
    """Return the scores of calls."""
    precise, ticks = _Panel(calls, PRECISE_TICK_S), _Panel(calls, TAU_VOICE_TICK_S)
    figures = [
        replace(one, on_ticks=other.value)
        for one, other in zip(precise.figures(), ticks.figures(), strict=True)
    ]
    return [*_waits(calls), *figures, *_end_of_turn(calls), _word_error_rate(calls)]


def _waits(calls: Sequence[CallSpeech]) -> list[Figure]:
    """Return the wait that the page, the log and `/metrics` have: last voiced sample to first audio."""
    waits = [np.array(call.waits_s, np.float64) for call in calls]
    return [
        _statistic("here", "wait, mean", waits, lambda values: float(values.mean())),
        _statistic("here", "wait, p50", waits, lambda values: float(np.percentile(values, 50))),
        _statistic("here", "wait, p95", waits, lambda values: float(np.percentile(values, 95))),
    ]


class _Panel:
    """tau-voice's measures of turn-taking over all calls: latency, interruptions, yielding."""

    def __init__(self, calls: Sequence[CallSpeech], tick_s: float) -> None:
        self._events = [interaction_events(call.caller, call.agent, call.seconds, tick_s) for call in calls]

    def figures(self) -> list[Figure]:
        return [
            self._mean("response latency, mean", "response"),
            self._percentile("response latency, p50", 50),
            self._percentile("response latency, p95", 95),
            self._share("turns answered", "response"),
            self._mean("yield latency, mean", "yield"),
            self._share("interruptions yielded to", "yield"),
            self._interruptions_per_turn(),
            self._share("backchannels talked through", "backchannel"),
            self._share("noises ignored", "noise"),
            self._share("asides ignored", "aside"),
        ]

    def _of(self, kind: EventKind) -> list[list[InteractionEvent]]:
        return [[event for event in events if event.kind == kind] for events in self._events]

    def _latencies(self, kind: EventKind) -> list[Floats]:
        return [
            np.array([event.latency_s for event in events if event.latency_s is not None], np.float64)
            for events in self._of(kind)
        ]

    def _mean(self, name: str, kind: EventKind) -> Figure:
        return _statistic("tau-voice", name, self._latencies(kind), lambda values: float(values.mean()))

    def _percentile(self, name: str, percent: float) -> Figure:
        return _statistic(
            "voice-agent-latency",
            name,
            self._latencies("response"),
            lambda values: float(np.percentile(values, percent)),
        )

    def _share(self, name: str, kind: EventKind) -> Figure:
        outcomes = [event.success for events in self._of(kind) for event in events]
        return _share("tau-voice", name, sum(outcomes), len(outcomes))

    def _interruptions_per_turn(self) -> Figure:
        turns = np.array([len(events) for events in self._of("response")])
        interruptions = np.array([len(events) for events in self._of("agent_interruption")])

        def rate(chosen: Indices) -> float | None:
            total = int(turns[chosen].sum())
            return float(interruptions[chosen].sum() / total) if total else None

        return Figure(
            "tau-voice",
            "interruptions by the agent",
            "per turn",
            rate(np.arange(len(turns))),
            int(turns.sum()),
            bootstrap(len(turns), rate),
        )


class _Policies:
    """Scores of eot-bench's end-of-turn policies on the pauses of all calls."""

    def __init__(self, calls: Sequence[CallSpeech]) -> None:
        self._calls = [policy_sums(call.pauses) for call in calls]

    @cached_property
    def _all(self) -> OperatingPoints | None:
        return operating_points(self._calls)

    def figure(
        self, name: str, unit: Unit, best: Callable[[OperatingPoints | None, float], float | None], at: float
    ) -> Figure:
        count = sum(call.within if unit == "share" else call.ends for call in self._calls)

        def resampled(chosen: Indices) -> float | None:
            return best(operating_points([self._calls[index] for index in chosen]), at)

        interval = bootstrap(len(self._calls), resampled)
        return Figure("eot-bench", name, unit, best(self._all, at), count, interval)


def _end_of_turn(calls: Sequence[CallSpeech]) -> list[Figure]:
    policies = _Policies(calls)
    pauses = [pause for call in calls for pause in call.pauses if pause.counts and not pause.ends_turn]
    cut_offs = sum(_is_cut_off(pause) for pause in pauses)
    decided = [
        np.array([p.decided_s for p in call.pauses if p.ends_turn and p.decided_s is not None], np.float64)
        for call in calls
    ]
    return [
        policies.figure("false cut-offs within 300 ms", "share", cut_off_within, 0.3),
        policies.figure("false cut-offs within 600 ms", "share", cut_off_within, 0.6),
        policies.figure("latency at 5 % false cut-offs", "s", latency_within, 0.05),
        policies.figure("latency at 10 % false cut-offs", "s", latency_within, 0.1),
        _share("here", "false cut-offs as configured", cut_offs, len(pauses)),
        _statistic("here", "end of turn decided after, mean", decided, lambda values: float(values.mean())),
    ]


def _is_cut_off(pause: Pause) -> bool:
    return pause.decided_s is not None and pause.decided_s < pause.seconds - EARLY_S


def _word_error_rate(calls: Sequence[CallSpeech]) -> Figure:
    errors = np.array([call.words.errors for call in calls])
    words = np.array([call.words.words for call in calls])

    def rate(chosen: Indices) -> float | None:
        total = int(words[chosen].sum())
        return float(errors[chosen].sum() / total) if total else None

    interval = bootstrap(len(calls), rate)
    return Figure(
        "jiwer", "word error rate", "share", rate(np.arange(len(calls))), int(words.sum()), interval
    )


def _statistic(source: Source, name: str, values: Sequence[Floats], of: Callable[[Floats], float]) -> Figure:
    """Return a statistic of the times of all calls together, in seconds, with its interval by drawing calls.

    values: the times of each call. of: computes the statistic.
    """

    def of_calls(chosen: Indices) -> float | None:
        together = np.concatenate([np.zeros(0), *(values[index] for index in chosen)])
        return of(together) if len(together) else None

    count = sum(len(one) for one in values)
    interval = bootstrap(len(values), of_calls)
    return Figure(source, name, "s", of_calls(np.arange(len(values))), count, interval)


def _share(source: Source, name: str, successes: int, total: int) -> Figure:
    share = successes / total if total else None
    return Figure(source, name, "share", share, total, wilson(successes, total))
