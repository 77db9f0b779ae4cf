"""Forms of tool calls without a mark.

Each looks at the beginning of a growing text. Text that only resembles a call is rejected at the first
character that cannot occur in one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet

from llmcore.text.control_marks import SPECIAL_TOKEN
from llmcore.text.element_calls import scalar
from llmcore.text.json_forms import json_form, keyed_form
from llmcore.text.known_calls import Found, Known, Verdict
from llmcore.text.line_calls import bracketed_name, command_arguments, yaml_calls, yaml_end
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.written_calls import WrittenCall, read_calls, value_end

_Form = Callable[[str, Known], Verdict | Found]

_LEADS = (
    *("functions.", "default_api.", "print(", "await ", "assistant", "to="),
    *("action:", "tool call:", "tool_call:", "function call:", "function_call:", "call:", "calling "),
    *("tool calls:", "function calls:", "calling tool:", "calling tools:"),
    *("tool:", "function:", "tools.", "api."),
    *("***", "**", "*", "__", "/", "@", "$ ", ">>>"),
)
"""Texts that may precede the name of a tool, also several of them, in lower case."""
_LONGEST_LEAD = max(map(len, _LEADS))
_LEAD_BEGINNINGS = frozenset(lead[:length] for lead in _LEADS for length in range(len(lead)))
_BEFORE_JSON = (
    (":", ",", "->", "=>"),
    (
        *("with ", "json", "code", "arguments:", "args:", "parameters:", "params:"),
        *("input:", "action input:", "tool input:"),
    ),
    ("<|message|>", "<|content_invoke_tool_json|>"),
)
"""Texts between the name and its JSON: each at most once, in this order."""
_JSON_ARGUMENTS = re.compile(r"""\{{1,2}\s*(?:["'}]|\w+\s*:\s*["']|(?P<key>\w+)\s*:\s*[^\s"'])""")
_JSON_ARGUMENTS_BEGIN = re.compile(r"\{{1,2}\s*(?:\w+\s*(?::\s*)?)?\Z")
_BRACKETS = re.compile(
    r"""(?:\.call)?\(\s*(?:(?P<value>["'])|\{|\w+=\S|\w+\s*[:=]\s*["']|(?P<key>\w+)\s*[:=]\s*[^\s"'])"""
    r"""|(?:\.call)?\ \(\s*(?P<apart>\w+)\s*=\s*(?:(?P<quote>["'])|[^\s"'])"""
)
"""Beginnings of arguments. key, apart: a parameter that may be a word of a remark instead: without quotes
around its value, or in brackets apart from the name ("Your order (total = 12 dollars) is ready."). value: an
argument by its position, which within a sentence is code that is explained ('search("x") returns a list').
"""
_LINK_ARGUMENTS = re.compile(r"\(\s*\w+\s*=")
_NUMBER = re.compile(r"\A:\d{1,2}(?=\s*(?:\{|\Z))")
"""Number of a call after its name: `functions.weather:0{...}` (Kimi)."""
_MARKS_AFTER = re.compile(r"[*_]{1,3}(?=\W|\Z)")
_NO_ARGUMENTS = re.compile(r"(?:\.call)?\(\s*\)")
_BRACKETS_BEGIN = re.compile(r"(?:\.c?a?l?l?)?(?: ?\(\s*(?:\w+\s*(?:[=:]\s*)?)?)?\Z")
_TAG = re.compile(r"""<(?P<name>[\w.-]+)(?:>\s*[<{]|\s+\w+\s*=\s*["']|\s*/>)""")
_ONLY_VALUE = re.compile(
    r"""<(?P<name>[\w.-]+)>(?P<value>[^\s<{][^<\n]*)(?:(?P<end></(?P=name)>)|(?P<begun>(?:<[^>\n]*)?)\Z)"""
)
_TAG_BEGINS = re.compile(r"""<[\w.-]*(?:>\s*|\s*/|\s+(?:\w+\s*=?\s*)?)?\Z""")


def read_known(text: str, names: AbstractSet[str]) -> list[WrittenCall]:
    """Return the calls in a text that names a known tool; none if they cannot be read."""
    try:
        calls = read_calls(text, names)
    except MalformedToolCall:
        return []
    return calls if all(name.removeprefix("functions.") in names for name, _ in calls) else []


def _named(text: str, known: Known) -> Verdict | Found:
    """Match the name, then its arguments: `weather {...}`, `print(weather(city="Rome"))`."""
    bracket = len(text) - len(text.removeprefix("[").lstrip())
    found = find_name(text[bracket:], known.names)
    if isinstance(found, str):
        return found
    start, at = (bracket + place for place in found)
    listed = bracket > 0 and start == bracket
    if marks := _MARKS_AFTER.match(text, at):  # "**weather**(...)"
        text = text[start:at] + text[marks.end() :]
        start, at, removed = 0, at - start, start + marks.end() - at
        verdict = _named(text, known)
        return (verdict[0] + removed, verdict[1]) if isinstance(verdict, tuple) else verdict
    if listed and text.startswith("]", at):  # as a link: "[weather](city=Rome)"
        return _as_link(text, start, at, known)
    verdict = _in_brackets(text, start, at, listed, known)
    if verdict not in ("text", "open"):
        return verdict
    other = _before_json(text, start, at, known)
    return verdict if other == "text" else other


def _as_link(text: str, start: int, at: int, known: Known) -> Verdict | Found:
    """Judge arguments in round brackets behind a name in square ones. at: the end of the name."""
    if len(text) <= at + 1:
        return "open"
    call = text[start:at] + text[at + 1 :]
    if _BRACKETS_BEGIN.match(call, at - start):
        return "open" if call[at - start] == "(" else "text"
    if not _LINK_ARGUMENTS.match(call, at - start):
        return "text"
    verdict = _in_brackets(call, 0, at - start, False, known)
    return (verdict[0] + start + 1, verdict[1]) if isinstance(verdict, tuple) else verdict


def find_name(text: str, names: AbstractSet[str]) -> tuple[int, int] | Verdict:
    """Return the start and end of a tool's name at the beginning, or after texts that may precede it."""
    at = 0
    while True:
        rest = text[at:]
        for name in names:
            if rest.startswith(name) and not re.match(r"\w", rest[len(name) :]):
                return at, at + len(name)
        lower = rest[:_LONGEST_LEAD].lower()
        if not lower.startswith(_LEADS):
            break
        at += next(len(lead) for lead in _LEADS if lower.startswith(lead))
        at += len(text[at:]) - len(text[at:].lstrip())
    begins = (len(rest) < _LONGEST_LEAD and lower in _LEAD_BEGINNINGS) or any(
        n.startswith(rest) for n in names
    )
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
    if found["value"]:
        return known.at_start or known.after_sentence or start > 0 or "_" in text[:at]
    return found["apart"] is None or known.at_start or found["quote"] is not None


def _before_json(text: str, start: int, at: int, known: Known) -> Verdict | Found:
    """Judge JSON, or GLM's marks, after a name. start, at: the name's."""
    rest = _NUMBER.sub("", text[at:])
    for literals in _BEFORE_JSON:
        skipped = _skip(rest, literals)
        if skipped is None:
            return "open"
        rest = skipped
    if not rest or "<arg_key>".startswith(rest) or _JSON_ARGUMENTS_BEGIN.match(rest):
        return "open"
    if rest.startswith("<arg_key>"):
        end = _marked_end(text, "</arg_value>", "<arg_key>")
    elif (found := _JSON_ARGUMENTS.match(rest)) and (
        found["key"] is None or (known.after_sentence and known.takes(text[start:at], found["key"]))
    ):
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
    if value := _ONLY_VALUE.match(text):
        return _only_value(value, known)
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


def _only_value(tag: re.Match[str], known: Known) -> Verdict | Found:
    """Judge a tag that begins a line, with the value of its tool's only parameter."""
    parameters = known.parameters.get(tag["name"], ())
    if tag["name"] not in known.names or len(parameters) != 1 or not known.at_start:
        return "text"
    if tag["end"]:
        return tag.end(), [
            (tag["name"], json.dumps({parameters[0]: scalar(tag["value"])}, ensure_ascii=False))
        ]
    return "open" if f"</{tag['name']}>".startswith(tag["begun"]) else "text"


def _in_lines(text: str, known: Known) -> Verdict | Found:
    """Match YAML: "weather:" or "name: weather", and a line for each argument."""
    if not known.at_start:
        return "text"
    head = text.partition("\n")[0]
    name = next((name for name in known.names if name in head), "")
    end = yaml_end(text, known.names, known.parameters.get(name))
    if end is None:
        return "text"
    if end <= 0:
        return "begun" if end else "open"
    calls = yaml_calls(text[:end], known.names)
    return (end, calls) if calls else "text"


def _as_command(text: str, known: Known) -> Verdict | Found:
    """Match a shell's line, or ReAct's: `weather --city Rome`, `weather city="Rome"`, `weather[Rome]`."""
    found = find_name(text, known.names) if known.at_start else "text"
    if isinstance(found, str):
        return found
    start, at = found
    name = text[start:at]
    line, newline, _ = text[at:].partition("\n")
    given = command_arguments(
        line, known.parameters.get(name), with_value=text[:start].lower().startswith("action:")
    )
    if given is None or isinstance(given, bool):
        return "open" if given and not newline else "text"
    return (at + len(line), [(name, json.dumps(given, ensure_ascii=False))]) if newline else "begun"


def _alone(text: str, known: Known) -> Verdict | Found:
    """Match the name of a tool without parameters alone in brackets at the end of a line: "[hang_up]"."""
    line, newline, _ = text.partition("\n")
    name = bracketed_name(line)
    if name is None:
        return "text"
    # a name without "_" may be a word in brackets; a tool that is not in `parameters` may have some
    alone = {each for each in known.names if "_" in each and known.parameters.get(each) == ()}
    if not name:
        begun = line.strip("<[{` />]}")
        return "open" if any(each.startswith(begun) for each in alone) else "text"
    if name not in alone:
        return "text"
    return (len(line), [(name, "{}")]) if newline else "begun"


FORMS: tuple[tuple[str, _Form], ...] = (
    ("{[", json_form),
    ("{[", keyed_form),
    ("", _named),
    ("", _in_lines),
    ("", _as_command),
    ("<", _tagged),
    ("<[{`", _alone),
)
"""All forms by their first characters, "" for any. A call in any of them may be in a fence of Markdown."""


def _marked_end(text: str, mark: str, other: str) -> int:
    """Return the position after the first `mark` that no `other` can follow; -1 if there is none yet."""
    end = text.find(mark)
    while end >= 0:
        end += len(mark)
        rest = text[end:].lstrip()
        if not other.startswith(rest[: len(other)]):
            return end
        end = text.find(mark, end) if rest.startswith(other) else -1
    return -1
