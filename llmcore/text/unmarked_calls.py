"""Tool calls without a mark: JSON with a known tool's name, bare or in a code fence, and Python calls.

Text that resembles a call is released at its first character that cannot occur in one.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Literal

from llmcore.text.control_marks import SPECIAL_TOKEN
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.written_calls import (
    ARGUMENT_KEYS,
    NAME_KEYS,
    OTHER_KEYS,
    WrittenCall,
    calls_of,
    is_call,
    load,
    read_calls,
    value_end,
)

Verdict = Literal["text", "open"]
""""text": no call. "open": more text is needed to decide."""
Found = tuple[int, list[WrittenCall]]
"""End position of the calls, and the calls: none if it names a known tool, but cannot be read."""

_LANGUAGES = ("json", "tool_call", "tool_calls", "tool_code", "python", "xml")
_FENCE = re.compile(rf"```[ \t]*(?:{'|'.join(sorted(_LANGUAGES, reverse=True))})?\s*(?=\S)")
_FENCE_BEGINS = re.compile(r"`{1,3}\Z|```[ \t]*([a-z_]*)\s*\Z")
_FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS, "tool_calls")
_KINDS = ("function", "tool_call", "tool_use", "function_call")
_NAME = re.compile(rf"""(["'])(?:{"|".join(NAME_KEYS)})\1\s*:\s*(["'])(?:functions\.)?(?P<name>[\w.-]+)\2""")


def judge(text: str, names: AbstractSet[str], *, any_name: bool = False) -> Verdict | Found:
    """Decide whether text that begins with a brace, bracket, backquote or a tool's name is a call.

    names: names of known tools. any_name: accept calls of any name.
    """
    at = 0
    if text.startswith("`"):
        if begins := _FENCE_BEGINS.match(text):
            word = begins[1] or ""
            return "open" if any(language.startswith(word) for language in _LANGUAGES) else "text"
        fence = _FENCE.match(text)
        if fence is None:
            return "text"
        at = fence.end()
    fits = _fits(text[at:], names, any_name)
    if fits == "python":
        return _judge_python(text, at, names)
    if fits != "json":
        return fits
    end, _ = value_end(text, at, SPECIAL_TOKEN)
    return "open" if end < 0 else _judge_json(text, at, end, names, any_name)


def calls_at_end(text: str, names: AbstractSet[str]) -> list[WrittenCall] | None:
    """Return the calls in text that was open when the reply ended: none if it names a known tool, but cannot
    be read; None if it is words.
    """
    if not _names_tool(text, names) and _fits(text, names, False) != "python":
        return None
    fence = _FENCE.match(text)
    try:
        calls = read_calls(text[fence.end() if fence else 0 :].rstrip("` \n"))
    except MalformedToolCall:
        return []
    return calls if all(_known(name, names) for name, _ in calls) else []


def _judge_json(text: str, at: int, end: int, names: AbstractSet[str], any_name: bool) -> Verdict | Found:
    written = text[at:end]
    try:
        value = load(written)
        calls = calls_of(value)
    except MalformedToolCall:
        value, calls = None, []
    known = any_name or all(_known(name, names) for name, _ in calls)
    if calls and known and is_call(value):
        return end, calls
    return (end, []) if _names_tool(written, names) else "text"


def _names_tool(text: str, names: AbstractSet[str]) -> bool:
    """Return True if a field of the text that names a call's tool has the name of a known one."""
    return any(found["name"] in names for found in _NAME.finditer(text))


def _known(name: str, names: AbstractSet[str]) -> bool:
    return name.removeprefix("functions.") in names


def _fits(text: str, names: AbstractSet[str], any_name: bool) -> Literal["text", "open", "json", "python"]:
    """Return the form of call that a growing text can still become: "open" for either, "text" for none."""
    rest = text
    if rest.startswith("["):
        rest = rest[1:].lstrip()
    elif not rest.startswith("{"):
        return _fits_python(rest, names)
    if not rest:
        return "open"
    if not rest.startswith("{"):
        return _fits_python(rest, names)
    rest = rest.removeprefix("{").removeprefix("{").lstrip()
    if not rest:
        return "open"
    if rest[0] not in "\"'":
        return "text"
    key, closed, value = rest[1:].partition(rest[0])
    if not closed:
        return "open" if any(each.startswith(key) for each in _FIRST_KEYS) else "text"
    if key not in _FIRST_KEYS:
        return "text"
    value = value.lstrip()
    if value and value[0] != ":":
        return "text"
    value = value[1:].lstrip()
    if not value:
        return "open"
    allowed = _KINDS if key == "type" else tuple(names) if key in NAME_KEYS else None
    if allowed is None or value[0] not in "\"'" or (any_name and key != "type"):
        return "json" if allowed is None or value[0] in "\"'{" else "text"
    word, closed, _ = value[1:].partition(value[0])
    word = word.removeprefix("functions.")
    fits = word in allowed if closed else any(each.startswith(word) for each in allowed)
    return "json" if fits or (not closed and "functions.".startswith(word)) else "text"


def _fits_python(text: str, names: AbstractSet[str]) -> Literal["text", "open", "python"]:
    """Match `name(`, also within Gemma's `print(default_api.name(`."""
    for before in ("print(default_api.", "default_api.", "print(", ""):
        if text.startswith(before):
            text = text[len(before) :]
            break
        if before.startswith(text):
            return "open"
    for name in names:
        for begins in (f"{name}(", f"{name}.call("):
            if text.startswith(begins):
                return "python"
            if begins.startswith(text):
                return "open"
    return "text"


def _judge_python(text: str, at: int, names: AbstractSet[str]) -> Verdict | Found:
    end = _python_end(text, at)
    if end < 0:
        return "open"
    try:
        calls = read_calls(text[at:end])
    except MalformedToolCall:
        return "text"
    return (end, calls) if all(name in names for name, _ in calls) else "text"


def _python_end(text: str, start: int) -> int:
    """Return the position after the closing bracket of the first one from `start`; -1 while it is open."""
    depth, quote, at = 0, "", start
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return -1
