"""Tool calls without a mark: JSON with a known tool's name in it or before it, bare or in a code fence, and
Python calls.

Text that resembles a call is released at its first character that cannot occur in one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Literal

from llmcore.text.control_marks import SPECIAL_TOKEN
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
    read_calls,
    value_end,
)

Verdict = Literal["text", "open"]
""""text": no call. "open": more text is needed to decide."""
_Form = Literal["text", "open", "json", "keyed", "named", "python"]
""""keyed": JSON with the tool's name as key. "named": JSON after the tool's name."""
Found = tuple[int, list[WrittenCall]]
"""End position of the calls, and the calls: none if it names a known tool, but cannot be read."""

_LANGUAGES = ("json", "tool_call", "tool_calls", "tool_code", "python", "xml")
_BEFORE_NAMES = ("functions.", "Action: ")
_ACTION = re.compile(r"Action: ?")
_ACTION_INPUT = "Action Input:"
"""The two lines of ReAct: the tool's name, and its arguments."""
_FENCE = re.compile(rf"```[ \t]*(?:{'|'.join(sorted(_LANGUAGES, reverse=True))})?\s*(?=\S)")
_FENCE_BEGINS = re.compile(r"`{1,3}\Z|```[ \t]*([a-z_]*)\s*\Z")
_FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS, *LIST_KEYS)
_KINDS = ("function", "tool_call", "tool_use", "function_call")
_NAME = re.compile(rf"""(["'])(?:{"|".join(NAME_KEYS)})\1\s*:\s*(["'])(?:functions\.)?(?P<name>[\w.-]+)\2""")


def judge(
    text: str, names: AbstractSet[str], *, any_name: bool = False, at_start: bool = False
) -> Verdict | Found:
    """Decide whether text that begins with a brace, bracket, backquote or a tool's name is a call.

    names: names of known tools. any_name: accept calls of any name. at_start: it begins the reply or a line;
    only there can a key of JSON be the tool's name.
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
    match _fits(text[at:], names, any_name, at_start):
        case "text":
            return "text"
        case "open":
            return "open"
        case "python":
            return _judge_python(text, at, names)
        case "named":
            end, _ = value_end(text, text.index("{", at), SPECIAL_TOKEN)
            return "open" if end < 0 else (end, calls_at_end(text[at:end], names) or [])
        case "keyed":
            end, _ = value_end(text, at, SPECIAL_TOKEN)
            return "open" if end < 0 else _judge_keyed(text[at:end], end, names)
        case "json":
            end, _ = value_end(text, at, SPECIAL_TOKEN)
            return "open" if end < 0 else _judge_json(text[at:end], end, names, any_name)


def calls_at_end(text: str, names: AbstractSet[str]) -> list[WrittenCall] | None:
    """Return the calls in text that was open when the reply ended: none if it names a known tool, but cannot
    be read; None if it is words.
    """
    if not _names_tool(text, names) and _fits(text, names, False) not in ("python", "named"):
        return None
    fence = _FENCE.match(text)
    try:
        calls = read_calls(text[fence.end() if fence else 0 :].rstrip("` \n"))
    except MalformedToolCall:
        return []
    return calls if all(_known(name, names) for name, _ in calls) else []


def _judge_keyed(written: str, end: int, names: AbstractSet[str]) -> Verdict | Found:
    try:
        calls = calls_by_name(load(written), names)
    except MalformedToolCall:
        return "text"
    return (end, calls) if calls else "text"


def _judge_json(written: str, end: int, names: AbstractSet[str], any_name: bool) -> Verdict | Found:
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


def _fits(text: str, names: AbstractSet[str], any_name: bool, at_start: bool = False) -> _Form:
    """Return the form of call that a growing text can still become: "open" for any, "text" for none."""
    rest = text
    if rest.startswith("["):
        rest = rest[1:].lstrip()
    elif not rest.startswith("{"):
        return _fits_named(rest, names)
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
    keys = (*_FIRST_KEYS, *names) if at_start and text.startswith("{") else _FIRST_KEYS
    if not closed:
        return "open" if any(each.startswith(key) for each in keys) else "text"
    if key not in keys:
        return "text"
    value = value.lstrip()
    if value and value[0] != ":":
        return "text"
    value = value[1:].lstrip()
    if not value:
        return "open"
    if key not in _FIRST_KEYS:
        return "keyed" if value[0] == "{" else "text"
    allowed = _KINDS if key == "type" else tuple(names) if key in NAME_KEYS else None
    if allowed is None or value[0] not in "\"'" or (any_name and key != "type"):
        return "json" if allowed is None or value[0] in "\"'{" else "text"
    word, closed, _ = value[1:].partition(value[0])
    word = word.removeprefix("functions.")
    fits = word in allowed if closed else any(each.startswith(word) for each in allowed)
    return "json" if fits or (not closed and "functions.".startswith(word)) else "text"


def _fits_named(text: str, names: AbstractSet[str]) -> _Form:
    """Match `name {"`, also after "functions." or "Action:", and else what `_fits_python` does."""
    if _begins_any(text, _BEFORE_NAMES):
        return "open"
    named = text.removeprefix("functions.") if text.startswith("functions.") else _ACTION.sub("", text)
    for name in names:
        if named.startswith(name) and (form := _fits_json_after_name(named[len(name) :])) != "text":
            return form
    return "open" if _begins_any(named, names) else _fits_python(text.removeprefix("functions."), names)


def _fits_json_after_name(text: str) -> Literal["text", "open", "named"]:
    rest = text.lstrip().removeprefix(":").lstrip()
    if _ACTION_INPUT.startswith(rest):
        return "open"
    rest = rest.removeprefix(_ACTION_INPUT).lstrip().removeprefix("{").lstrip()
    if not rest:
        return "open"
    return "named" if "{" in text and rest[0] in "\"'}" else "text"


def _begins_any(text: str, others: Iterable[str]) -> bool:
    """Return True if other text begins with all of `text`, which may still become it."""
    return any(other.startswith(text) for other in others)


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
    return (end, calls) if all(_known(name, names) for name, _ in calls) else "text"


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
