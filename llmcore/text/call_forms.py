"""Forms of tool calls without a mark.

Each looks at the beginning of a growing text. Text that only resembles a call is rejected at the first
character that cannot occur in one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
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

Verdict = Literal["text", "open", "begun"]
""""text": no call. "open": more text is needed to decide. "begun": a call of a known tool whose end is
missing.
"""
Found = tuple[int, list[WrittenCall]]
"""End position of the calls, and the calls: none if it names a known tool, but cannot be read."""


@dataclass(frozen=True, slots=True)
class Known:
    """Conditions of a call. names: of known tools. any_name: accept JSON with any name. at_start: the text
    begins the reply, a line or a sentence; only there is the name alone enough, as a key or before "()".
    parameters: names of the parameters of tools, in lower case; a tool that is not in it may have any.
    """

    names: AbstractSet[str]
    any_name: bool
    at_start: bool
    parameters: Mapping[str, AbstractSet[str]]

    def has(self, name: str) -> bool:
        return name.removeprefix("functions.") in self.names

    def takes(self, name: str, key: str | None) -> bool:
        """Return True if the tool may have this parameter. key: None for text that no one speaks."""
        if key is None or name not in self.parameters:
            return True
        return key.lower() in self.parameters[name] or key in ARGUMENT_KEYS


_Form = Callable[[str, Known], Verdict | Found]

_FIRST_KEYS = (*NAME_KEYS, *ARGUMENT_KEYS, *OTHER_KEYS, *LIST_KEYS)
_KINDS = ("function", "tool_call", "tool_use", "function_call")
_NAME = re.compile(
    rf"""(?<![\w"'])(["']?)(?:{"|".join(NAME_KEYS)})\1\s*:\s*(["'])(?:functions\.)?(?P<name>[\w.-]+)\2"""
)
_LEADS = (
    *("functions.", "default_api.", "print(", "await ", "assistant", "to="),
    *("action:", "tool call:", "tool_call:", "function call:", "function_call:", "call:", "calling "),
    *("tool:", "function:"),
)
"""Texts that may precede the name of a tool, also several of them, in lower case."""
_BEFORE_JSON = ((":", ","), ("with ", "json", "code", "arguments:", "action input:"), ("<|message|>",))
"""Texts between the name and its JSON: each at most once, in this order."""
_JSON_ARGUMENTS = re.compile(r"""\{{1,2}\s*(?:["'}]|\w+\s*:\s*["']|(?P<key>\w+)\s*:\s*[^\s"'])""")
_JSON_ARGUMENTS_BEGIN = re.compile(r"\{{1,2}\s*(?:\w+\s*(?::\s*)?)?\Z")
_BRACKETS = re.compile(
    r"""(?:\.call)?\(\s*(?:["'{]|\w+=\S|\w+\s*[:=]\s*["']|(?P<key>\w+)\s*[:=]\s*[^\s"'])"""
    r"""|(?:\.call)?\ \(\s*(?P<apart>\w+)\s*=\s*(?P<quote>["'])?\S"""
)
"""Beginnings of arguments. key, apart: a parameter that may be a word of a remark instead: without quotes
around its value, or in brackets apart from the name ("Your order (total = 12 dollars) is ready.").
"""
_NO_ARGUMENTS = re.compile(r"(?:\.call)?\(\s*\)")
_BRACKETS_BEGIN = re.compile(r"(?:\.c?a?l?l?)?(?: ?\(\s*(?:\w+\s*(?:[=:]\s*)?)?)?\Z")
_TAG = re.compile(r"""<(?P<name>[\w.-]+)(?:>\s*[<{]|\s+\w+\s*=\s*["']|\s*/>)""")
_TAG_BEGINS = re.compile(r"""<[\w.-]*(?:>\s*|\s*/|\s+(?:\w+\s*=?\s*)?)?\Z""")


def read_known(text: str, names: AbstractSet[str]) -> list[WrittenCall]:
    """Return the calls in a text that names a known tool; none if they cannot be read."""
    try:
        calls = read_calls(text, names)
    except MalformedToolCall:
        return []
    return calls if all(name.removeprefix("functions.") in names for name, _ in calls) else []


def _json(text: str, known: Known) -> Verdict | Found:
    """Match JSON with the name in it, in a list or alone: `{"name": "weather", "arguments": {...}}`."""
    if (verdict := _opens_json(text, known)) != "begun":
        return verdict
    end, _ = value_end(text, 0, SPECIAL_TOKEN)
    if end < 0:
        return "begun" if _names_tool(text, known) else "open"
    try:
        value = load(text[:end])
        calls = calls_of(value)
    except MalformedToolCall:
        value, calls = None, []
    if calls and is_call(value) and (known.any_name or all(known.has(name) for name, _ in calls)):
        return end, calls
    return (end, []) if _names_tool(text[:end], known) else "text"


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


def _keyed(text: str, known: Known) -> Verdict | Found:
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


def _named(text: str, known: Known) -> Verdict | Found:
    """Match the name, then its arguments: `weather {...}`, `print(weather(city="Rome"))`."""
    bracket = len(text) - len(text.removeprefix("[").lstrip())
    found = find_name(text[bracket:], known.names)
    if isinstance(found, str):
        return found
    start, at = (bracket + place for place in found)
    listed = bracket > 0 and start == bracket
    verdict = _in_brackets(text, start, at, listed, known)
    if verdict not in ("text", "open"):
        return verdict
    other = _before_json(text, start, at, known)
    return verdict if other == "text" else other


def find_name(text: str, names: AbstractSet[str]) -> tuple[int, int] | Verdict:
    """Return the start and end of a tool's name at the beginning, or after texts that may precede it."""
    at = 0
    while True:
        rest = text[at:]
        for name in names:
            if rest.startswith(name) and not re.match(r"\w", rest[len(name) :]):
                return at, at + len(name)
        lead = next((each for each in _LEADS if rest[: len(each)].lower() == each), None)
        if lead is None:
            break
        at += len(lead)
        at += len(text[at:]) - len(text[at:].lstrip())
    begins = any(each.startswith(rest.lower()) for each in _LEADS) or any(n.startswith(rest) for n in names)
    return "open" if begins else "text"


def _in_brackets(text: str, start: int, at: int, listed: bool, known: Known) -> Verdict | Found:
    """Judge arguments in brackets. start, at: the name's. listed: it is the first of a list of calls."""
    if _BRACKETS_BEGIN.match(text, at):
        return "open"
    # no one says "hang_up()", but "book()" may be a word of a sentence
    alone = known.at_start or start > 0 or "_" in text[start:at]
    if not (_has_arguments(text, start, at, known) or (alone and _NO_ARGUMENTS.match(text, at))):
        return "text"
    start = 0 if listed else start
    end, _ = value_end(text, start, python=True)
    return "begun" if end < 0 else (end, read_known(text[start:end], known.names))


def _has_arguments(text: str, start: int, at: int, known: Known) -> bool:
    """Return True if brackets with arguments, and no remark, follow a name. start, at: the name's."""
    found = _BRACKETS.match(text, at)
    if found is None or not known.takes(text[start:at], found["key"] or found["apart"]):
        return False
    return found["apart"] is None or known.at_start or found["quote"] is not None


def _before_json(text: str, start: int, at: int, known: Known) -> Verdict | Found:
    """Judge JSON, or GLM's marks, after a name. start, at: the name's."""
    rest = text[at:]
    for literals in _BEFORE_JSON:
        skipped = _skip(rest, literals)
        if skipped is None:
            return "open"
        rest = skipped
    if not rest or "<arg_key>".startswith(rest) or _JSON_ARGUMENTS_BEGIN.match(rest):
        return "open"
    if rest.startswith("<arg_key>"):
        end = _marked_end(text, "</arg_value>", "<arg_key>")
    elif (found := _JSON_ARGUMENTS.match(rest)) and known.takes(text[start:at], found["key"]):
        end, _ = value_end(text, len(text) - len(rest), SPECIAL_TOKEN)
    else:
        return "text"
    return "begun" if end < 0 else (end, read_known(text[start:end], known.names))


def _skip(text: str, literals: tuple[str, ...]) -> str | None:
    """Return the text without one of these at its beginning; None if it may still become one."""
    rest = text.lstrip()
    for literal in literals:
        if rest[: len(literal)].lower() == literal:
            return rest[len(literal) :].lstrip()
    return None if any(each.startswith(rest.lower()) for each in literals) else rest


def _tagged(text: str, known: Known) -> Verdict | Found:
    """Match the name as a tag: `<weather>{...}</weather>`, `<weather city="Rome"/>`."""
    if _TAG_BEGINS.match(text):
        word = re.match(r"<([\w.-]*)", text)
        named = word is not None and (
            word[1] in known.names
            if word.end() < len(text)
            else any(name.startswith(word[1]) for name in known.names)
        )
        return "open" if named else "text"
    found = _TAG.match(text)
    if found is None or found["name"] not in known.names:
        return "text"
    ends = [mark for mark in (f"</{found['name']}>", "/>") if mark in text]
    if not ends:
        return "begun"
    end = min(text.index(mark) + len(mark) for mark in ends)
    return end, read_known(text[:end], known.names)


FORMS: tuple[tuple[str, _Form], ...] = (("{[", _json), ("{", _keyed), ("", _named), ("<", _tagged))
"""All forms by their first characters, "" for any. A call in any of them may be in a fence of Markdown."""


def _names_tool(text: str, known: Known) -> bool:
    """Return True if a field of the text that names a call's tool has the name of a known one."""
    return any(found["name"] in known.names for found in _NAME.finditer(text))


def _marked_end(text: str, mark: str, other: str) -> int:
    """Return the position after the last `mark` if no `other` can follow it; -1 otherwise."""
    end = text.rfind(mark) + len(mark)
    rest = text[end:].lstrip()
    return end if mark in text and rest and not other.startswith(rest[: len(other)]) else -1
