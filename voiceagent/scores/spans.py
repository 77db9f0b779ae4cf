"""Spans of speech in seconds, and their division into ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from voiceagent.scores.statistics import EPSILON


class Span(NamedTuple):
    """A span of a recording, in seconds; the end is exclusive."""

    begin_s: float
    end_s: float


class Ticks(NamedTuple):
    """A span in whole ticks; the end is exclusive."""

    begin: int
    end: int


def joined(spans: Iterable[Span], max_gap_s: float) -> list[Span]:
    """Return the spans in order of time, joined where the gap between two is at most `max_gap_s`."""
    whole: list[Span] = []
    for span in sorted(spans):
        if whole and span.begin_s - whole[-1].end_s <= max_gap_s:
            whole[-1] = Span(whole[-1].begin_s, max(whole[-1].end_s, span.end_s))
        else:
            whole.append(span)
    return whole


def on_ticks(span: Span, tick_s: float) -> Ticks:
    """Return all ticks in which a part of the span lies."""
    begin = math.floor(span.begin_s / tick_s + EPSILON)
    return Ticks(begin, max(begin + 1, math.ceil(span.end_s / tick_s - EPSILON)))


def covering(spans: Sequence[Ticks], tick: int) -> Ticks | None:
    """Return the span that contains a tick."""
    return next((span for span in spans if span.begin <= tick < span.end), None)


def overlap_s(one: Span, other: Span) -> float:
    """Return the seconds in both spans."""
    return max(0.0, min(one.end_s, other.end_s) - max(one.begin_s, other.begin_s))
