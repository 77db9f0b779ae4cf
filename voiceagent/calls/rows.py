"""Rows of the store: conversion from and to objects, and filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa

from voiceagent.calls import tables
from voiceagent.calls.summary import CallSummary, Stage, Turn


@dataclass(frozen=True, slots=True)
class CallRow:
    """One call in lists.

    state: "running", "ended" or "broken" (its process died). place: location of its files. size_bytes: of its
    files. responses: of the agent, its greeting included. interruptions, failures: cut responses, failed
    engines. longest_wait_s: of the caller, None if no response answered speech. false_ends:
    turns answered before they were over. tool_failures: failed tools. end_code: as in `CallEnded`.
    """

    call_id: str
    state: str
    started_at: float
    seconds: float | None
    reason: str | None
    place: str
    size_bytes: int
    responses: int
    interruptions: int
    failures: int
    longest_wait_s: float | None
    false_ends: int = 0
    tool_failures: int = 0
    end_code: str = ""


class Cursor(NamedTuple):
    """A position in the list of calls, newest first: after this call."""

    started_at: float
    call_id: str


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Filter of calls; all given conditions must hold.

    since, until: start of the call, Unix seconds, `until` exclusive. state: as in `CallRow`. slower_than_s:
    minimum of the longest wait. cut_off: a turn was answered before it was over. interrupted: a response was
    cut. tool_failed, engine_failed: at least one. provider_value: value of the provider's metadata,
    such as the caller's number.
    """

    since: float | None = None
    until: float | None = None
    state: str | None = None
    slower_than_s: float | None = None
    cut_off: bool = False
    interrupted: bool = False
    tool_failed: bool = False
    engine_failed: bool = False
    provider_value: str | None = None


NOTHING_YET = {"bytes": 0, "turns": 0, "interruptions": 0, "failures": 0, "longest_wait_us": 0}
"""Figures of a running call."""


def conditions(wanted: CallFilter) -> list[sa.ColumnElement[bool]]:
    """Return the SQL conditions of a filter."""
    calls = tables.calls.c
    found: list[sa.ColumnElement[bool]] = []
    if wanted.since is not None:
        found.append(calls.started_at >= wanted.since)
    if wanted.until is not None:
        found.append(calls.started_at < wanted.until)
    if wanted.state is not None:
        found.append(calls.state == wanted.state)
    if wanted.slower_than_s is not None:
        found.append(calls.longest_wait_us > round(wanted.slower_than_s * 1e6))
    if wanted.provider_value is not None:
        facts = tables.facts.c
        found.append(
            calls.call_id.in_(sa.select(facts.call_id).where(facts.value == _storable(wanted.provider_value)))
        )
    counted = {
        calls.false_ends: wanted.cut_off,
        calls.interruptions: wanted.interrupted,
        calls.tool_failures: wanted.tool_failed,
        calls.failures: wanted.engine_failed,
    }
    return found + [column > 0 for column, asked in counted.items() if asked]


def call_values(summary: CallSummary, state: str, place: str, size_bytes: int) -> dict[str, Any]:
    """Return the row of an ended call."""
    turns = summary.turns
    return {
        "call_id": summary.call_id,
        "state": state,
        "started_at": summary.started_at,
        "seconds": summary.seconds,
        "reason": summary.reason,
        "place": place,
        "bytes": size_bytes,
        "turns": len(turns),
        "interruptions": sum(turn.outcome in ("interrupted", "false_end") for turn in turns),
        "failures": summary.failures,
        "longest_wait_us": max((turn.waited_us for turn in turns), default=0),
        "false_ends": sum(turn.outcome == "false_end" for turn in turns),
        "tool_failures": sum(tool.failed for tool in summary.tools),
        "end_code": summary.end_code,
    }


def turn_values(summary: CallSummary) -> list[dict[str, Any]]:
    """Return the rows of its turns, numbered from 1."""
    return [
        {
            "call_id": summary.call_id,
            "number": number,
            "turn_id": turn.turn_id,
            "outcome": turn.outcome,
            "said": _storable(turn.said),
            "written": _storable(turn.written),
            "heard": _storable(turn.heard),
            "waited_us": turn.waited_us,
            "over_budget": ",".join(turn.over_budget),
            "at_s": turn.at_s,
            "end_code": turn.end_code,
            "interrupted_by": turn.interrupted_by,
        }
        for number, turn in enumerate(summary.turns, 1)
    ]


def fact_values(summary: CallSummary) -> list[dict[str, Any]]:
    """Return the rows of the provider's metadata, numbered from 1."""
    return [
        {
            "call_id": summary.call_id,
            "number": number,
            "name": _storable(fact.name),
            "value": _storable(fact.value),
        }
        for number, fact in enumerate(summary.facts, 1)
    ]


def stage_values(summary: CallSummary) -> list[dict[str, Any]]:
    """Return the rows of the stages of its turns."""
    return [
        {
            "call_id": summary.call_id,
            "number": number,
            "name": stage.name,
            "duration_us": stage.duration_us,
            "hidden_us": stage.hidden_us,
        }
        for number, turn in enumerate(summary.turns, 1)
        for stage in turn.stages
    ]


def tool_values(summary: CallSummary) -> list[dict[str, Any]]:
    """Return the rows of its tools, numbered from 1."""
    return [
        {
            "call_id": summary.call_id,
            "number": number,
            "name": _storable(tool.name),
            "at_s": tool.at_s,
            "took_s": tool.took_s,
            "failed": tool.failed,
        }
        for number, tool in enumerate(summary.tools, 1)
    ]


def _storable(text: str) -> str:
    """Replace characters that PostgreSQL refuses: NUL and unpaired surrogates."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")


def to_call_row(row: sa.RowMapping) -> CallRow:
    values = dict(row)
    responses, size_bytes = values.pop("turns"), values.pop("bytes")
    longest_us = values.pop("longest_wait_us")
    longest_wait_s = longest_us / 1e6 if longest_us else None
    return CallRow(**values, responses=responses, size_bytes=size_bytes, longest_wait_s=longest_wait_s)


def to_turn(row: sa.RowMapping, stages: list[Stage]) -> Turn:
    over = tuple(row["over_budget"].split(",")) if row["over_budget"] else ()
    words = (row["said"], row["written"], row["heard"])
    codes = row["end_code"], row["interrupted_by"]
    return Turn(row["turn_id"], row["outcome"], *words, tuple(stages), over, row["at_s"], *codes)
