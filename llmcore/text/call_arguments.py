"""A tool call's name and arguments as models write them: read where their meaning is certain. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.written_calls import value_end

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*(?:```)?", re.DOTALL)
"""A fence of Markdown around the whole text."""
_AROUND_NAME = re.compile(
    r"^[\s\"'`]*(?:(?:functions|tools|default_api)[.:])*|(?:<\|.*|\(\)|:\d+)?[\s\"'`]*$", re.DOTALL
)
"""Text around a tool's name: its namespace; the number of the call ("functions.weather:0"); harmony's marks,
which servers of gpt-oss leave there ("weather<|channel|>commentary").
"""


def read_arguments(text: str) -> str:
    """Return the JSON object that `text` stands for, the text itself if that is not certain.

    Read are an object in a fence of Markdown, with words after it, written twice, or with bare line breaks in
    its strings. Two different objects are not: either may be meant.
    """
    fenced = _FENCE.fullmatch(text.strip())
    body = fenced[1] if fenced else text.strip()
    if not body.startswith("{"):
        return text
    end, complete = value_end(body)
    rest = body[end:].strip()
    if not complete or "{" in rest.replace(body[:end], ""):
        return text
    try:
        found = json.loads(body[:end], strict=False)
    except ValueError:
        return text
    return body[:end] if is_object(body[:end]) else json.dumps(found, ensure_ascii=False)


def with_names(text: str, parameters: Sequence[str] | None) -> str:
    """Return the JSON of arguments, with names for those that the model gave by their positions.

    text: JSON; in a list, values without names precede objects of those with names. Any other text is the
    only argument. parameters: the tool's, in order; None if they are not known. A tool that has none is
    called without the values. Raises MalformedToolCall for a value beyond the parameters.
    """
    try:
        given = json.loads(text)
    except ValueError:
        one = parameters is not None and len(parameters) == 1 and text.strip() and text[0] not in "{["
        given = [text] if one else None
    if not isinstance(given, list):
        return text
    values = [] if parameters == () else [value for value in given if not isinstance(value, dict)]
    if len(values) > len(parameters or ()):
        raise MalformedToolCall(f"an argument without a name: {text!r}")
    named = dict(zip(parameters or (), values, strict=False))
    for value in given:
        named |= value if isinstance(value, dict) else {}
    return json.dumps(named, ensure_ascii=False)


def is_object(text: str) -> bool:
    """Return True if the text is a JSON object, without any tolerance."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def arguments_object(text: str) -> dict[str, Any]:
    """Return arguments as the object that servers require in the history: empty for none, and under
    "arguments" if the model wrote anything else than a JSON object.
    """
    if not text.strip():
        return {}
    return dict(json.loads(text)) if is_object(text) else {"arguments": text}


def sendable_arguments(text: str) -> str:
    """Return the JSON of `arguments_object`, an object as it was written.

    vLLM and chat templates decode the arguments of former calls, and refuse the whole request otherwise.
    """
    return text if is_object(text) else json.dumps(arguments_object(text), ensure_ascii=False)


def known_name(name: str, known: Collection[str]) -> str:
    """Return the known tool that a call's name means: without the text around it that some models write, or
    but for upper and lower case. The name itself if it means none, or several.
    """
    if name in known:
        return name
    bare = _AROUND_NAME.sub("", name.rpartition("functions.")[2])
    if bare in known:
        return bare
    alike = [one for one in known if one.casefold() == bare.casefold()]
    return alike[0] if len(alike) == 1 else name
