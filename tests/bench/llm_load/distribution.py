"""Traces of calls, and their generation from a description in a TOML file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Annotated

from pydantic import Field

from voiceagent.bench.material import Conversation, shuffled
from voiceagent.validation.section import Duration, Seconds, Section


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """One turn of a caller.

    speaks_at_s: start, from the start of the call. spoken_s: length. said: transcript. response_tokens:
    maximum of the answer. cut_after_s: time from the end of the turn to the caller's interruption; None
    without one.
    """

    speaks_at_s: float
    spoken_s: float
    said: str
    response_tokens: int
    cut_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class TracedCall:
    """A call. begins_s: from the start of the trace. history_tokens: approximate history before it."""

    begins_s: float
    turns: tuple[TracedTurn, ...] = field(default=())
    history_tokens: int = 0


Trace = tuple[TracedCall, ...]
"""Calls in order of their start."""

Count = Annotated[int, Field(ge=1)]


class Distribution(Section):
    """Calls that begin at random times (a Poisson process) and hold conversations of the material."""

    calls: Count = 16
    """Total number of calls."""
    calls_a_minute: Annotated[float, Field(gt=0)] = 480.0
    """Mean rate at which they begin: by default all within some seconds."""
    turns: Count = 6
    """Mean number of turns of a call (geometric)."""
    history_tokens: Annotated[int, Field(ge=0)] = 1200
    """Approximate history of a call when it begins: as after some minutes."""
    words_a_s: Annotated[float, Field(gt=0)] = 2.5
    """Speaking rate of callers: people on a telephone say 150 words a minute."""
    pause_s: Seconds = 1.0
    """Mean time from the end of playback to the caller's next word (exponential)."""
    response_tokens: Count = 40
    """Mean length of a response (exponential); the model may end it sooner."""
    spoken_tokens_a_s: Annotated[float, Field(gt=0)] = 4.0
    """Rate at which responses are played."""
    interrupted: Annotated[float, Field(ge=0, le=1)] = 0.15
    """Share of responses that callers interrupt."""
    interrupted_after_s: Duration = 1.5
    """Mean time from the end of the turn to the interruption (exponential)."""


def trace_of(described: Distribution, conversations: Sequence[Conversation], seed: int) -> Trace:
    """Generate calls; deterministic for a seed."""
    random = Random(seed)
    questions = [question for conversation in conversations for question in conversation.questions]
    asked = shuffled(questions, random)
    begins_s, calls = 0.0, []
    for _ in range(described.calls):
        begins_s += random.expovariate(described.calls_a_minute / 60)
        turns, speaks_at_s = list[TracedTurn](), _mean(random, described.pause_s)
        while not turns or random.random() > 1 / described.turns:
            said = next(asked)
            spoken_s = len(said.split()) / described.words_a_s
            tokens = max(1, round(_mean(random, described.response_tokens)))
            cut_after_s = played_s = None
            if random.random() < described.interrupted:
                cut_after_s = round(_mean(random, described.interrupted_after_s), 3)
            else:
                played_s = tokens / described.spoken_tokens_a_s + _mean(random, described.pause_s)
            turns.append(TracedTurn(round(speaks_at_s, 3), round(spoken_s, 3), said, tokens, cut_after_s))
            speaks_at_s += spoken_s + (cut_after_s or played_s or 0.0)
        calls.append(TracedCall(round(begins_s, 3), tuple(turns), described.history_tokens))
    return tuple(calls)


def _mean(random: Random, mean: float) -> float:
    return random.expovariate(1 / mean) if mean else 0.0
