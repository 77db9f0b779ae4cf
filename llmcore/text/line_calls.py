"""Tool calls that fill lines of their own: YAML, a shell's command, and a tool's name alone in brackets.

Each form looks at the beginning of a growing text, as those of `call_forms`, and decides with a line's end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from llmcore.text.element_calls import scalar
from llmcore.text.written_calls import ARGUMENT_KEYS, NAME_KEYS, WrittenCall

_LEADS = ("", *(f"{key}: " for key in NAME_KEYS), "Action: ")
_ARGUMENTS = (*ARGUMENT_KEYS, "Action Input")
_PAIR = re.compile(r"(?P<indent>[ ]*)(?P<key>[\w-]+|Action Input):(?:[ ]+(?P<value>\S.*))?\s*\Z")
_BRACKETED = re.compile(r"[<\[{`]{1,2}(?P<name>\w+)[ ]?/?[>\]}`]{1,2}\s*\Z")
_BRACKETED_BEGINS = re.compile(r"[<\[{`]{1,2}(?P<name>\w*)(?:[ ]?/?[>\]}`]?)\Z")
_GIVEN = re.compile(
    r"""[ ]+(?:--(?P<option>[\w-]+)(?:=|[ ]+)|(?P<key>\w+)=)"""
    r"""(?P<value>"[^"]*"|'[^']*'|(?!--)[^\s"'=]+(?=[ ]|\Z))"""
)
_GIVEN_BEGINS = re.compile(
    r"""[ ]*(?:-{0,2}|(?P<key>--[\w-]+)(?:=|[ ]+)?(?:["'][^"']*)?|(?P<word>\w+)(?:=(?:["'][^"']*)?)?)\Z"""
)
_VALUE = re.compile(r"\[([^\[\]]+)\][ ]*\Z")


@lru_cache(maxsize=64)  # bounded, as clients choose the names
def _head_beginnings(names: AbstractSet[str]) -> AbstractSet[str]:
    """Return all beginnings of first lines, the whole ones too, without the colon and blanks at their end."""
    heads = [f"{lead}{name}" for lead in _LEADS for name in names]
    return frozenset(head[:length].rstrip(": ") for head in heads for length in range(1, len(head) + 1))


def yaml_end(text: str, names: AbstractSet[str], parameters: Collection[str] | None) -> int | None:
    """Return the end of a call in YAML at the beginning of a text: 0 while that may still become one, -1 for
    one that has no end yet, None if it is no call.

    parameters: those that may be the first one; None for any. A name and parameters with words below them are
    no call: the agent reads something out ("email:\\nto: Anna\\nShall I send it?").
    """
    head, newline, rest = text.partition("\n")
    if not newline:
        return 0 if head.rstrip(": ") in _head_beginnings(names) else None
    if _name_of(head, names) is None:
        return None
    lines = rest.split("\n")
    pairs = 0
    for number, line in enumerate(lines):
        last = number == len(lines) - 1
        another = pairs and not last and line.endswith(":") and _name_of(line, names)
        found = None if another else _PAIR.match(line)
        is_whole = found is not None and (not last or bool(found["value"]))
        if found and pairs and is_whole and _is_of_no_parameter(found, lines[0], parameters):
            return None
        if found is None or (pairs == 0 and not _may_begin(found, lines[number + 1 :], parameters)):
            if last and re.fullmatch(r"[ ]*[\w -]*", line):
                return -1 if pairs and not line.strip() else 0
            if not pairs:
                return None
            end = len(text) - len("\n".join(lines[number:])) - 1
            named_by_key = ":" in head.rstrip(": ") or lines[0].partition(":")[0].strip() in _ARGUMENTS
            return end if named_by_key else _end_without_words_below(text, end, names)
        pairs += is_whole
    return -1 if pairs else 0


def _end_without_words_below(text: str, end: int, names: AbstractSet[str]) -> int | None:
    """Return a call's end if nothing, a fence's end or another call is below it; else as `yaml_end`."""
    below = text[end:].lstrip()
    if not below:
        return -1
    head, newline, _ = below.partition("\n")
    if below.startswith("```") or (newline and _name_of(head, names)):
        return end
    begins = "```".startswith(below) or (not newline and head.rstrip(": ") in _head_beginnings(names))
    return 0 if begins else None


def _name_of(head: str, names: Collection[str]) -> str | None:
    """Return the tool that the first line names: "weather:" or "name: weather"."""
    for lead in _LEADS:
        if not head.strip().startswith(lead):
            continue
        name = head.strip().removeprefix(lead) if lead else head.strip().removesuffix(":")
        if name.strip("\"'") in names and (lead or head.rstrip().endswith(":")):
            return name.strip("\"'")
    return None


def _may_begin(pair: re.Match[str], following: list[str], parameters: Collection[str] | None) -> bool:
    """Return True if a line may be the first below the name: a parameter, or the key of all arguments."""
    if pair["key"] in _ARGUMENTS:
        return (pair["value"] is None and (not following or following[0][:1] in ("", " "))) or (
            pair["key"] == "Action Input"
        )
    return parameters is None or pair["key"] in parameters


def _is_of_no_parameter(pair: re.Match[str], first: str, parameters: Collection[str] | None) -> bool:
    """Return True if a line below the first has a key that the tool does not take: something is read out
    ("weather:\ncity: Rome\nwind: none").
    """
    of_all = first.partition(":")[0].strip() in _ARGUMENTS
    return parameters is not None and not of_all and pair["key"] not in (*parameters, *_ARGUMENTS)


def yaml_calls(text: str, names: Collection[str]) -> list[WrittenCall]:
    """Return the call in YAML that a text is; none if it is not one."""
    head, _, body = text.partition("\n")
    name = _name_of(head, names)
    found = [_PAIR.match(line) for line in body.split("\n") if line.strip()]
    pairs = [pair for pair in found if pair is not None]
    if name is None or not pairs or len(pairs) < len(found):
        return []
    if pairs[0]["key"] == "Action Input":
        return [(name, json.dumps([scalar(pairs[0]["value"] or "")], ensure_ascii=False))]
    given = {pair["key"]: scalar(pair["value"]) for pair in pairs if pair["value"]}
    return [(name, json.dumps(given, ensure_ascii=False))]


def command_arguments(
    line: str, parameters: Collection[str] | None, with_value: bool
) -> dict[str, Any] | list[Any] | bool | None:
    """Return the arguments that fill a line behind a tool's name; True if they may still do so, else None.

    parameters: the tool's; None for any. with_value: an argument without a name may stand in square brackets.
    """
    if with_value and line.startswith("["):
        value = _VALUE.match(line)
        return [scalar(value[1])] if value else ("]" not in line or None)
    given: dict[str, Any] = {}
    at = 0
    while found := _GIVEN.match(line, at):
        key = (found["option"] or found["key"]).replace("-", "_")
        if parameters is not None and key not in parameters:
            return None
        given[key] = scalar(found["value"].strip("\"'"))
        at = found.end()
    if given and not line[at:].strip():
        return given
    begins = _GIVEN_BEGINS.match(line, at)
    if begins is None:
        return None
    key = (begins["key"] or begins["word"] or "").removeprefix("--").replace("-", "_")
    return (parameters is None or any(each.startswith(key) for each in parameters)) or None


def bracketed_name(text: str) -> str | None:
    """Return the name that fills a text, in brackets: "[hang_up]"; "" if it may become one, else None."""
    if found := _BRACKETED.match(text):
        return found["name"]
    return "" if _BRACKETED_BEGINS.match(text) else None
