"""Events of a conversation by tau-voice's definitions.

Source: docs/interaction-metrics.md of https://github.com/sierra-research/tau2-bench, version 1.0.
Their calls are simulated in ticks of 200 ms in which a side speaks or does not; here spans are divided into
ticks of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from voiceagent.scores.spans import Span, Ticks, covering, on_ticks

TAU_VOICE_TICK_S = 0.2
PRECISE_TICK_S = 0.001
YIELD_WINDOW_S = 2.0
"""Time within which the agent must stop for an interruption."""
KEEP_WINDOW_S = 1.0
"""Time for which the agent must go on after a backchannel, a noise or an aside."""
SILENCE_WINDOW_S = 2.0
"""Time after a noise or an aside in which a silent agent must not begin to speak."""

SpeechKind = Literal["turn", "backchannel", "noise", "aside", "typed"]
"""Meaning of a caller's sound. noise: tau-voice's vocal tics, and any other noise. aside: non-directed
speech. Both expect no answer, and the agent does not interrupt them. typed: text that a client sent; an
answer after it is none to the turn before.
"""
SPEECH: tuple[SpeechKind, ...] = ("turn", "backchannel")
SOUNDS: tuple[Literal["noise", "aside"], ...] = ("noise", "aside")
EventKind = Literal["response", "yield", "agent_interruption", "backchannel", "noise", "aside"]


@dataclass(frozen=True, slots=True)
class CallerSpeech:
    """A span of the caller's sound. text: the words if they are known, for word errors."""

    span: Span
    kind: SpeechKind = "turn"
    text: str | None = None


@dataclass(frozen=True, slots=True)
class InteractionEvent:
    """An event at `at_s`. success: the agent did the right thing. latency_s: of a response or a yield."""

    kind: EventKind
    at_s: float
    success: bool
    latency_s: float | None = None


class _Spoken(NamedTuple):
    ticks: Ticks
    kind: SpeechKind


def interaction_events(
    caller: Sequence[CallerSpeech], agent: Sequence[Span], seconds: float, tick_s: float = PRECISE_TICK_S
) -> list[InteractionEvent]:
    """Return the events of one call in order of time.

    Args:
        caller: sounds of the caller.
        agent: speech of the agent, without the pauses of playout.
        seconds: length of the call. The agent has not stopped for a caller if it speaks until then.
        tick_s: unit of time.
    """
    spoken = _caller_ticks(caller, tick_s)
    agent_ticks = _joined(sorted(on_ticks(span, tick_s) for span in agent))
    events = [
        *_responses(spoken, agent_ticks, tick_s),
        *_overlaps(spoken, agent_ticks, on_ticks(Span(0.0, seconds), tick_s).end, tick_s),
        *_sounds_in_silence(spoken, agent_ticks, tick_s),
        *_agent_interruptions(spoken, agent_ticks, tick_s),
    ]
    return sorted(events, key=lambda event: event.at_s)


def _responses(spoken: Sequence[_Spoken], agent: Sequence[Ticks], tick_s: float) -> list[InteractionEvent]:
    """Return an event for each turn: a success if it was answered before the caller spoke again.

    Turns at whose end the agent speaks expect no answer. A last turn that nothing follows does not count.
    """
    turns = [one.ticks for one in spoken if one.kind == "turn" and covering(agent, one.ticks.end) is None]
    requests = sorted(
        [*(turn.begin for turn in turns), *(one.ticks.begin for one in spoken if one.kind == "typed")]
    )
    events = []
    for turn in turns:
        answer = next((span.begin for span in agent if span.begin >= turn.end), None)
        again = next((begin for begin in requests if begin >= turn.end), None)
        if answer is not None and (again is None or answer <= again):
            wait_s = (answer - turn.end) * tick_s
            events.append(InteractionEvent("response", turn.end * tick_s, True, wait_s))
        elif again is not None:
            events.append(InteractionEvent("response", turn.end * tick_s, False))
    return events


def _overlaps(
    spoken: Sequence[_Spoken], agent: Sequence[Ticks], call_end: int, tick_s: float
) -> list[InteractionEvent]:
    """Return the reaction of a speaking agent to each sound that begins over it."""
    events = []
    for one in spoken:
        interrupted = covering(agent, one.ticks.begin)
        if interrupted is None:
            continue
        at_s, stop = one.ticks.begin * tick_s, interrupted.end - one.ticks.begin
        if one.kind == "turn":
            yields = interrupted.end < call_end and stop < _in_ticks(YIELD_WINDOW_S, tick_s)
            events.append(InteractionEvent("yield", at_s, yields, stop * tick_s if yields else None))
        elif one.kind != "typed":
            goes_on = interrupted.end >= call_end or stop >= _in_ticks(KEEP_WINDOW_S, tick_s)
            events.append(InteractionEvent(one.kind, at_s, goes_on))
    return events


def _sounds_in_silence(
    spoken: Sequence[_Spoken], agent: Sequence[Ticks], tick_s: float
) -> list[InteractionEvent]:
    """Return an event for each noise and aside that begins while the agent is silent."""
    window = _in_ticks(SILENCE_WINDOW_S, tick_s)
    events = []
    for ticks, kind in spoken:
        if kind not in SOUNDS or covering(agent, ticks.begin) is not None:
            continue
        answered = any(ticks.begin <= span.begin <= ticks.end + window for span in agent)
        events.append(InteractionEvent(kind, ticks.begin * tick_s, not answered))
    return events


def _agent_interruptions(
    spoken: Sequence[_Spoken], agent: Sequence[Ticks], tick_s: float
) -> list[InteractionEvent]:
    """Return an event for each time that the agent begins to speak over the caller."""
    caller = [one.ticks for one in spoken if one.kind in SPEECH]
    return [
        InteractionEvent("agent_interruption", span.begin * tick_s, False)
        for span in agent
        if covering(caller, span.begin) is not None
    ]


def _caller_ticks(caller: Sequence[CallerSpeech], tick_s: float) -> list[_Spoken]:
    """Return the caller's sounds in ticks. Speech in adjacent ticks is one, of the first one's kind."""
    spoken: list[_Spoken] = []
    others: list[_Spoken] = []
    for sound in sorted(caller, key=lambda one: one.span):
        ticks = on_ticks(sound.span, tick_s)
        if sound.kind not in SPEECH:
            others.append(_Spoken(ticks, sound.kind))
        elif spoken and ticks.begin <= spoken[-1].ticks.end:
            before = spoken[-1]
            spoken[-1] = _Spoken(Ticks(before.ticks.begin, max(before.ticks.end, ticks.end)), before.kind)
        else:
            spoken.append(_Spoken(ticks, sound.kind))
    return [*spoken, *others]


def _joined(spans: Sequence[Ticks]) -> list[Ticks]:
    whole = list(spans[:1])
    for _, span in pairwise(spans):
        if span.begin <= whole[-1].end:
            whole[-1] = Ticks(whole[-1].begin, max(whole[-1].end, span.end))
        else:
            whole.append(span)
    return whole


def _in_ticks(seconds: float, tick_s: float) -> int:
    return round(seconds / tick_s)
