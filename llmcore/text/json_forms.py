"""Forms of tool calls without a mark that are JSON."""

from __future__ import annotations

import re
from typing import Any

from llmcore.text.control_marks import SPECIAL_TOKEN
from llmcore.text.known_calls import Found, Known, Verdict
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.written_calls import (
    ARGUMENT_KEYS,
    LIST_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    WrittenCall,
    calls_by_name,
    calls_of,
    is_call,
    load,
    value_end,
)

_FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS, *LIST_KEYS)
_KINDS = ("function", "tool_call", "tool_use", "function_call")
_NAME = re.compile(
    rf"""(?<![\w"'])(["']?)(?:{"|".join(NAME_KEYS)})\1\s*:\s*(["'])(?:functions\.)?(?P<name>[\w.-]+)\2"""
)


def json_form(text: str, known: Known) -> Verdict | Found:
    """Match JSON with the name in it, in a list or alone: `{"name": "weather", "arguments": {...}}`."""
    if (verdict := _opens_json(text, known)) != "begun":
        return verdict
    end, _ = value_end(text, 0, SPECIAL_TOKEN)
    if end < 0:
        return "begun" if _names_tool(text, known) else "open"
    value, calls = None, list[WrittenCall]()
    try:
        value = load(text[:end])
        calls = calls_of(value)
    except MalformedToolCall:
        pass
    named = bool(calls) and (is_call(value) or _has_its_arguments(value, calls[0][0], known))
    if named and (known.any_name or all(known.has(name) for name, _ in calls)):
        return end, calls
    damaged = _names_tool(text[:end], known) and not (value is not None and _is_data(value, known))
    return (end, []) if damaged else "text"


def _is_data(value: Any, known: Known) -> bool:
    """Return True if no field except the name is a call's: `{"name": "order", "price": 4}`."""
    if isinstance(value, list):
        return all(_is_data(item, known) for item in value)
    if not isinstance(value, dict):
        return False
    names = [each for key, each in value.items() if key in NAME_KEYS and isinstance(each, str)]
    others = value.keys() - {*NAME_KEYS, *OTHER_KEYS}
    return (
        len(names) == 1
        and names[0] in known.parameters
        and bool(others)
        and not any(key in LIST_KEYS or known.takes(names[0], key) for key in others)
    )


def _has_its_arguments(value: Any, name: str, known: Known) -> bool:
    """Return True if all fields except the name are parameters: `{"name": "weather", "city": "Rome"}`."""
    if not isinstance(value, dict) or name not in known.parameters:
        return False
    return all(key in (*NAME_KEYS, *OTHER_KEYS) or known.takes(name, key) for key in value)


def _opens_json(text: str, known: Known) -> Verdict:
    """Return "begun" if the first key and value may be a call's."""
    key, value = _first_pair(text)
    if key is None:
        return "text"
    if value is None:
        return "open" if any(each.startswith(key) for each in _FIRST_KEYS) else "text"
    if key not in _FIRST_KEYS:
        return "text"
    if not value:
        return "open"
    allowed = _KINDS if key == "type" else tuple(known.names) if key in NAME_KEYS else None
    if allowed is None:
        return "begun"
    if value[0] not in "\"'":
        return "begun" if value[0] == "{" else "text"
    if known.any_name and key != "type":
        return "begun"
    word, closed, _ = value[1:].partition(value[0])
    bare = word.removeprefix("functions.")
    fits = bare in allowed if closed else any(each.startswith(bare) for each in allowed)
    return "begun" if fits or (not closed and "functions.".startswith(word)) else "text"


def _first_pair(text: str) -> tuple[str | None, str | None]:
    """Return the first key of an object, and the text of its value: None while the key has no end, and a key
    of None if there can be none.
    """
    rest = text.removeprefix("[").lstrip()
    if not rest.startswith("{"):
        return (None, None) if rest else ("", None)
    rest = rest.removeprefix("{").removeprefix("{").lstrip()
    quoted = rest[:1] in ("'", '"')
    key, closed, rest = rest[1:].partition(rest[0]) if quoted else _bare_key(rest)
    if not closed:
        return (None, None) if rest else (key, None)
    value = rest.lstrip()
    if value and value[0] != ":":
        return None, None
    return key, value[1:].lstrip()


def _bare_key(text: str) -> tuple[str, str, str]:
    """Return a key without quotes, its colon ("" for none), and the text from there on."""
    found = re.match(r"(\w*)\s*(:?)", text)
    assert found is not None
    return found[1], found[2], text[found.start(2) :]


def keyed_form(text: str, known: Known) -> Verdict | Found:
    """Match JSON with the name as its key: `{"weather": {...}}`."""
    if not known.at_start:
        return "text"
    key, value = _first_pair(text)
    if key is None:
        return "text"
    if value is None:
        return "open" if any(name.startswith(key) for name in known.names) else "text"
    if key not in known.names or value[:1] not in ("", "{"):
        return "text"
    end, _ = value_end(text, 0, SPECIAL_TOKEN)
    if end < 0:
        return "open"
    try:
        calls = calls_by_name(load(text[:end]), known.names)
    except MalformedToolCall:
        return "text"
    return (end, calls) if calls else "text"


def _names_tool(text: str, known: Known) -> bool:
    """Return True if a field of the text that names a call's tool has the name of a known one."""
    return any(found["name"] in known.names for found in _NAME.finditer(text))
