"""Parser of tool calls in a model's text, in the notation of any model family.

JSON in its variants, `name{json}`, XML parameters (Qwen 3 Coder, MiniMax, GLM), Python calls (Llama, Gemma,
LFM 2), Gemma's own notation.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Container
from contextlib import suppress
from typing import Any

from llmcore.text.control_marks import SPECIAL_TOKEN
from llmcore.text.element_calls import elements, glm_calls, kimi_calls, with_common_names, xml_calls
from llmcore.text.python_calls import JSON_WORDS, loose_calls, python_calls
from llmcore.text.tool_calls import MalformedToolCall

WrittenCall = tuple[str, str]
"""Name, and arguments as JSON text: a list if some have no names, whose objects have the others."""

NAME_KEYS = ("name", "tool_name", "tool", "function", "function_name", "action", "recipient_name", "method")
ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "input",
    "tool_input",
    "params",
    "kwargs",
    "action_input",
    "tool_args",
)
OTHER_KEYS = ("type", "id", "tool_call_id", "index", "jsonrpc", "thought", "thoughts", "reasoning")
LIST_KEYS = ("tool_calls", "tool_uses", "tool_call", "function_call")
"""Keys of a list of calls, or of the only call."""

_NAMED_JSON = re.compile(
    r"""\s*(?:\w*<\|tool_call:name\|>|call:|action:\s*|functions?[.=:]|<?(?:__)?function=
        |function\s*<[|｜]tool[▁_]sep[|｜]>)?\s*["']?
    (?P<name>[\w.\-]+)["']?(?::\d+)?\s*
    (?:\[CALL_ID\][\w-]*\s*)?
    (?:(?:\[ARGS\]|>|\)|<\|tool_call:args\|>|<\|content_invoke_tool_json\|>|<[|｜]tool[▁_]sep[|｜]>
        |<[|｜]tool_call_argument_begin[|｜]>)\s*)*
    (?:[:,]|[-=]>)?\s*(?:with\s+|code\s*|(?:arguments|args|parameters|params|(?:action\ |tool\ )?input):\s*)?
    (?:(?:```)?(?:json)?\s*)?(?:<\|message\|>\s*)?(?=\{)""",
    re.VERBOSE | re.IGNORECASE,
)
_GEMMA_CALL = re.compile(r"\s*call:(?P<name>[\w.\-]+)\s*\{(?P<body>.*)\}\s*\Z", re.DOTALL)
_GEMMA_QUOTES = re.compile(r"<\|\"\|>|<escape>")
_BARE = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<=[{,:\[])\s*([A-Za-z_][\w -]*?)\s*(?=[:,}\]])"""
)
"""A string, or a key or value of letters without quotes."""


def read_calls(text: str, names: Container[str] = ()) -> list[WrittenCall]:
    """Return the calls in the text between two marks. Raises MalformedToolCall.

    names: tool names; such a name alone is a call without arguments.
    """
    text = with_common_names(text.strip())
    for written in dict.fromkeys((text, SPECIAL_TOKEN.sub("", text).strip())):
        if written in names:
            return [(written, "{}")]
        for reader in _READERS:
            if calls := reader(written):
                return calls
        if calls := _element_calls(written, names):
            return calls
    raise MalformedToolCall(f"not a tool call: {text!r}")


def value_end(
    text: str, start: int = 0, limit: re.Pattern[str] | None = None, *, python: bool = False
) -> tuple[int, bool]:
    """Return the end of the JSON object or list that begins at `start`, and True if it is complete.

    It is incomplete if `limit` matches first, outside of its strings, or if the text ends; the end is -1
    then. python: the value is a call of Python, with round brackets and both kinds of quotes; its name may
    precede it.
    """
    quotes, opening, closing = ("\"'", "([{", ")]}") if python else ('"', "[{", "]}")
    depth, at, quote = 0, start, ""
    while at < len(text):
        character = text[at]
        if quote:
            if character == "\\":
                at += 1
            elif character == quote:
                quote = ""
        elif character in quotes:
            quote = character
        elif character in opening:
            depth += 1
        elif character in closing:
            depth -= 1
            if depth == 0:
                return at + 1, True
        elif character == "<" and limit is not None and limit.match(text, at):
            return at, False
        at += 1
    return -1, False


def calls_of(value: Any) -> list[WrittenCall]:
    """Return the calls in a JSON value. Raises MalformedToolCall."""
    if isinstance(value, list):
        return [call for item in value for call in calls_of(item)]
    for listed in LIST_KEYS:
        if isinstance(value, dict) and isinstance(value.get(listed), list | dict):
            return calls_of(value[listed])
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        return calls_of(value["function"])
    if isinstance(value, dict) and (named := _named_by_key(value)):
        return [named]
    key = next((key for key in NAME_KEYS if key in value), None) if isinstance(value, dict) else None
    if key is None or not isinstance(value[key], str):
        raise MalformedToolCall(f'no "name" in {value!r}')
    beside_name = {other: value[other] for other in value if other not in (key, *OTHER_KEYS)}
    arguments = next((value[other] for other in ARGUMENT_KEYS if other in value), beside_name)
    return [(value[key], _json_text(arguments))]


def _named_by_key(value: dict[str, Any]) -> WrittenCall | None:
    """Return the call whose name is the only key, as Apertus writes it: `{"weather": {"city": "Rome"}}`."""
    name = next(iter(value), "")
    others = {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS, *LIST_KEYS}
    only = len(value) == 1 and isinstance(name, str) and name not in others and isinstance(value[name], dict)
    return (name, _json_text(value[name])) if only else None


def calls_by_name(value: Any, names: Container[str]) -> list[WrittenCall]:
    """Return the calls of an object, or of a list of them, whose keys are tools' names, and whose values are
    arguments; [] for any other value.
    """
    if isinstance(value, list):
        found = [calls_by_name(item, names) for item in value]
        return [call for calls in found for call in calls] if all(found) else []
    if not isinstance(value, dict) or not all(key in names for key in value):
        return []
    written = all(isinstance(arguments, dict) for arguments in value.values())
    return [(name, _json_text(arguments)) for name, arguments in value.items()] if written else []


def is_call(value: Any) -> bool:
    """Return True if a JSON value has the fields of a call, and no others."""
    if isinstance(value, list):
        return bool(value) and all(map(is_call, value))
    if not isinstance(value, dict):
        return False
    if len(value) == 1 and (listed := value.keys() & set(LIST_KEYS)):
        return is_call(value[listed.pop()])
    inner = value.get("function")
    allowed = {*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS}
    return value.keys() <= allowed and (not isinstance(inner, dict) or inner.keys() <= allowed)


def load(text: str) -> Any:
    """Parse JSON as models write it: with doubled braces, as some templates show it; without the last closing
    brackets; as a Python literal; without quotes. Raises MalformedToolCall.
    """
    text = text.strip()
    completed = (text + missing for missing in ("}", "}}", "]"))
    for written in (text, text[1:-1], text.replace("{{", "{").replace("}}", "}"), *completed):
        with suppress(ValueError):
            return json.loads(written, strict=False)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(text)
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(_BARE.sub(_in_quotes, text))
    raise MalformedToolCall(f"not JSON: {text!r}")


def _in_quotes(found: re.Match[str]) -> str:
    """Return a string as it is, and a key or value without quotes as Python writes it."""
    words = found[2]
    if words is None or words in ("True", "False", "None"):
        return found[0]
    return repr(JSON_WORDS.get(words, words))


def _json_text(value: Any) -> str:
    """Return arguments as JSON. Raises MalformedToolCall for values that only Python has, such as sets."""
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except TypeError as error:
        raise MalformedToolCall(f"not JSON: {value!r}") from error


def _json_calls(text: str) -> list[WrittenCall]:
    if not text.startswith(("{", "[")) or re.match(r"\[\s*[A-Za-z_]", text):
        return []
    calls: list[WrittenCall] = []
    while text.startswith(("{", "[")):
        end, whole = value_end(text)
        calls += calls_of(load(text[:end] if whole else text))
        text = text[end:].lstrip(" \n\t;,}") if whole else ""
    return calls


def _gemma_calls(text: str) -> list[WrittenCall]:
    found = _GEMMA_CALL.match(text)
    if found is None:
        return []
    return [(found["name"], _json_text(load(_GEMMA_QUOTES.sub('"', f"{{{found['body']}}}"))))]


def _named_json_calls(text: str) -> list[WrittenCall]:
    calls: list[WrittenCall] = []
    while found := _NAMED_JSON.match(text):
        end, whole = value_end(text, found.end())
        value = load(text[found.end() : end] if whole else text[found.end() :])
        whole_call = isinstance(value, dict) and value.keys() == {"name", "args"}  # as Inkling writes it
        if whole_call and value["name"] == found["name"]:
            value = value["args"]
        calls.append((found["name"], _json_text(value)))
        text = text[end:].lstrip(" \n\t;,`") if whole else ""
    return calls


def json_start(text: str) -> int:
    """Return the start of a call's JSON, after its name if that comes first; -1 if not found yet.

    A text in another form has no such start.
    """
    stripped = len(text) - len(text.lstrip())
    if text.startswith("{", stripped) or re.match(r"\[\s*[\[{]", text[stripped:]):
        return stripped
    if text.lstrip().startswith("call:"):  # Gemma's notation is not JSON
        return -1
    found = _NAMED_JSON.match(text)
    return found.end() if found else -1


def _element_calls(text: str, names: Container[str]) -> list[WrittenCall]:
    """Return the call in nested elements: `<weather><city>Rome</city></weather>`, or with elements for name
    and arguments (Anthropic's older form, Nova).
    """
    value = elements(text)
    while isinstance(value, dict):
        value = {
            key: load(each) if isinstance(each, str) and each[:1] == "{" else each
            for key, each in value.items()
        }
        if calls := calls_by_name(value, names):
            return calls
        if any(isinstance(value.get(key), str) for key in NAME_KEYS):
            return calls_of(value)
        value = next(iter(value.values())) if len(value) == 1 else None
    return []


_READERS = (
    _json_calls,
    _gemma_calls,
    kimi_calls,
    _named_json_calls,
    xml_calls,
    glm_calls,
    python_calls,
    loose_calls,
)
"""Readers of all notations but elements, which need the tools' names."""
