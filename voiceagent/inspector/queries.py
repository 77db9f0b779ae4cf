"""Parsing of query parameters and range headers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from voiceagent.calls.rows import CallFilter, Cursor

LIMIT, MAX_LIMIT = 50, 200
STATES = ("running", "ended", "broken")
FLAGS = ("cut_off", "interrupted", "tool_failed", "engine_failed")
PARAMETERS = ("limit", "behind", "since", "until", "state", "slower_than_ms", "provider_value", *FLAGS)
_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NUMBER = re.compile(r"^ (?=\d+$)")
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class BadQuery(ValueError):
    """Invalid request. The text names the parameter, its value and what is allowed."""


class CallQuery(NamedTuple):
    """Filter and page of the list of calls. behind: where the page before it ended."""

    wanted: CallFilter
    limit: int
    behind: Cursor | None


def is_call_id(text: str) -> bool:
    """Return True if a call may have this id. No other id is looked up."""
    return _CALL_ID.fullmatch(text) is not None


def call_query(parameters: Mapping[str, str]) -> CallQuery:
    """Parse the query parameters of the list of calls. Raises BadQuery."""
    for name in parameters.keys() - set(PARAMETERS):
        raise BadQuery(f"{name[:40]!r} is no parameter; allowed: {', '.join(PARAMETERS)}")
    state = parameters.get("state")
    if state is not None and state not in STATES:
        raise BadQuery(f"state is {state[:40]!r}; allowed: {', '.join(STATES)}")
    slower_ms = _number(parameters, "slower_than_ms")
    wanted = CallFilter(
        _number(parameters, "since"),
        _number(parameters, "until"),
        state,
        None if slower_ms is None else slower_ms / 1000,
        **{name: _flag(parameters, name) for name in FLAGS},
        provider_value=_parameter_value(parameters.get("provider_value")),
    )
    return CallQuery(wanted, _limit(parameters.get("limit", str(LIMIT))), _cursor(parameters.get("behind")))


def cursor_text(cursor: Cursor) -> str:
    """Return a cursor in the form of the parameter `behind`."""
    return f"{cursor.started_at!r},{cursor.call_id}"


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return first byte and end (exclusive) of a single range (RFC 9110, 14.1.2), or None for the whole file.

    Raises BadQuery if the range lies outside the file.
    """
    found = None if header is None else _RANGE.fullmatch(header.strip())
    if found is None or found.groups() == ("", ""):
        return None  # another unit, or several ranges: a server may send everything
    first, last = found.groups()
    if first == "":  # the last n bytes
        begin, end = max(0, size - int(last)), size
    else:
        begin, end = int(first), min(size, int(last) + 1) if last else size
    if begin >= end:
        raise BadQuery(f"Range is {found.group()!r}; the file has {size} bytes")
    return begin, end


def _number(parameters: Mapping[str, str], name: str) -> float | None:
    text = parameters.get(name)
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= 1e12:
        raise BadQuery(f"{name} is {text[:40]!r}; allowed: a number from 0 on")
    return number


def _flag(parameters: Mapping[str, str], name: str) -> bool:
    value = parameters.get(name, "0")
    if value not in ("0", "1"):
        raise BadQuery(f"{name} is {value[:40]!r}; allowed: 0, 1")
    return value == "1"


def _parameter_value(text: str | None) -> str | None:
    """Return the value with a leading plus restored: URLs decode it to a space unless written as %2B."""
    return text if text is None else _NUMBER.sub("+", text)


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MAX_LIMIT):
        raise BadQuery(f"limit is {text[:40]!r}; allowed: 1 to {MAX_LIMIT}")
    return int(text)


def _cursor(text: str | None) -> Cursor | None:
    if text is None:
        return None
    at, _, call_id = text.partition(",")
    number = _number({"behind": at}, "behind")
    if number is None or not is_call_id(call_id):
        raise BadQuery(f"behind is {text[:80]!r}; allowed: the `next` of a page before")
    return Cursor(number, call_id)
