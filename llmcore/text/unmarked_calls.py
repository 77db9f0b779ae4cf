"""Tool calls without a mark: the name of a known tool in a form that no one speaks."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

from llmcore.text.call_forms import FORMS, find_name, read_known
from llmcore.text.control_marks import TRIGGERS, Region
from llmcore.text.known_calls import Found, Known, Verdict
from llmcore.text.line_calls import bracketed_name, yaml_calls
from llmcore.text.open_regions import FENCED, INLINE, UNMARKED
from llmcore.text.tool_calls import MalformedToolCall
from llmcore.text.written_calls import ARGUMENT_KEYS, WrittenCall, read_calls

_CLOSES = " \t`*_\"')]};"
"""Characters that may stand between a call and the words that explain it."""
_WITH_ARGUMENTS = re.compile(
    rf"""(?:[\w *]+:[\s*]*)?[\[{{].*["'](?:{"|".join(ARGUMENT_KEYS)})["']\s*:""", re.DOTALL
)


def is_certain(call: str, at_start: bool) -> bool:
    """Return True if what follows a call need not be waited for: one in a fence, or JSON with arguments that
    begins a line. Nobody explains these with the next words, and waiting would take a token's time.
    """
    return call.startswith("```") or (at_start and _WITH_ARGUMENTS.match(call) is not None)


def begins_call(behind: str, names: AbstractSet[str]) -> bool | None:
    """Return True if a call begins behind a mark, None if more text is needed."""
    text = behind.lstrip()
    if not text or text[0] in "{[":
        return bool(text) or None
    name = find_name(text, names)
    if isinstance(name, str):
        return None if name == "open" else False
    arguments = text[name[1] :].lstrip()
    return arguments[0] in "({" if arguments else None


_FAREWELLS = (
    *("bye", "goodbye", "one moment", "one second", "one sec", "just a moment", "just a second", "hold on"),
    *("thanks", "thank you", "let me", "let's", "got it", "please hold", "please wait", "see you"),
    *("take care", "have a", "i'll", "i'm", "i've", "you're welcome", "all right", "alright", "ciao"),
    *("tschüss", "auf wiedersehen", "auf wiederhören", "bis bald", "danke", "einen moment", "moment", "ich"),
    *("adiós", "hasta luego", "hasta pronto", "gracias", "un momento", "un instante", "vale"),
)
"""Words that are said to a caller, and never about a call: "hang_up() bye"."""
_AGREEMENTS = ("okay", "ok", "sure", "great", "perfect", "please")
"""The same if a pause follows: "hang_up() sure ends the call" is about it."""
_FAREWELL = re.compile(rf"(?:{'|'.join(_FAREWELLS)})\b|(?:{'|'.join(_AGREEMENTS)})(?=[,.!]|\Z)")
_FAREWELL_BEGINNINGS = frozenset(
    words[:length] for words in (*_FAREWELLS, *_AGREEMENTS) for length in range(1, len(words) + 1)
)

_DEFINES = re.compile(r"(?P<sign>:|=>?|->|→|\||[-–—])[ \t*_`]*(?P<words>\w.*|\Z)", re.DOTALL)
"""Sign between a tool and its meaning in a list or table of tools: "- `hang_up()`: Ends the call"."""


def _is_defined(behind: str, ended: bool, begins_sentence: bool) -> bool | None:
    """Return True if a sign and a meaning follow a call, None if more text is needed. Words to the caller are
    no meaning, and a dash may stand before a sentence.
    """
    found = _DEFINES.match(behind)
    if found is None:
        return False
    words = found["words"].lower()
    if not ended and (not words or (begins_sentence and words in _FAREWELL_BEGINNINGS)):
        return None
    if not words or (begins_sentence and _FAREWELL.match(words)):
        return False
    is_dash = found["sign"] in "-–—"
    return not is_dash or not begins_sentence or found["words"][0].islower()


def is_explained(
    behind: str, names: AbstractSet[str], ended: bool, begins_sentence: bool = False
) -> bool | None:
    """Return True if the text behind a call continues its sentence, None if more text is needed.

    ended: there is no more text. begins_sentence: the call does; then words to the caller may follow it.
    """
    words = behind.lstrip(_CLOSES)
    if words.startswith(","):
        words = words[1:].lstrip(" ")
    if not words:
        return False if ended else None
    if not words[0].islower():
        return _is_defined(words, ended, begins_sentence)
    if begins_sentence and not ended and words in _FAREWELL_BEGINNINGS:
        return None
    if begins_sentence and _FAREWELL.match(words):
        return False
    call = find_name(words, names)  # another one
    if not ended and (call == "open" or (isinstance(call, tuple) and call[1] == len(words))):
        return None  # the word may go on: "call", "calls"
    return not isinstance(call, tuple)


_LANGUAGES = (
    "json",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_code",
    "function_call",
    "bash",
    "sh",
    "shell",
    "python",
    "py",
    "javascript",
    "js",
    "xml",
    "yaml",
    "yml",
)
_PROGRAM = re.compile(r"```[ \t]*(?:tool_code|python|py|javascript|js)\s+(?=\S)")
_FENCE = re.compile(
    rf"```[ \t]*(?:{'|'.join(sorted(_LANGUAGES, reverse=True))})?\s*(?=\S)|`(?=[^`])", re.IGNORECASE
)
_FENCE_BEGINS = re.compile(r"`{1,3}\Z|```[ \t]*([a-z_]*)\s*\Z", re.IGNORECASE)
_ACTION = re.compile(
    r"\A\*{0,2}(?:action|calling tools?|tool calls?|function calls?):\*{0,2}\s*(?=[`{\[]|\Z)", re.IGNORECASE
)
"""Text before JSON, or a fence (Command R, smolagents, RWKV)."""


def region_after(text: str) -> Region:
    """Return the region after a call. text: the call, from its fence on if it has one."""
    text = _ACTION.sub("", text, count=1)
    if _PROGRAM.match(text) or not text.startswith("`"):
        return UNMARKED
    return FENCED if text.startswith("```") else INLINE


@lru_cache(maxsize=64)  # bounded, as clients choose the names
def names_in_words(
    names: AbstractSet[str],
) -> tuple[re.Pattern[str], AbstractSet[str], Callable[[str], bool]]:
    """Return the pattern of a tool's name within a line where a call may follow, all beginnings of names, and
    a function that returns True if a piece of words may contain or begin a mark or a call.

    Models write the same pieces again and again, so that function remembers its answers.
    """
    written = [f"{before}{name}" for name in names for before in ("", "functions.")]
    longest_first = "|".join(map(re.escape, sorted(written, key=len, reverse=True)))
    pattern = re.compile(rf"(?<![^ ])(?:{longest_first})(?= ?(?:[({{:]|\Z))" if names else r"(?!)")
    beginnings = frozenset(name[:length] for name in written for length in range(1, len(name) + 1))

    @lru_cache(maxsize=1024)
    def may_call(piece: str) -> bool:
        last_word = piece.rstrip(" ").rpartition(" ")[2]
        return last_word in beginnings or bool(TRIGGERS.search(piece) or pattern.search(piece))

    return pattern, beginnings, may_call


def judge(text: str, known: Known) -> Verdict | Found:
    """Decide whether a text is a call. It begins with "<", a brace, bracket, backquote, or the name of a tool
    or a text that may precede it.
    """
    action = _ACTION.match(text)
    at = action.end() if action else 0
    if text.startswith("`", at):
        if begins := _FENCE_BEGINS.match(text, at):
            word = (begins[1] or "").lower()
            if any(language.startswith(word) for language in _LANGUAGES):
                return "open"
        if program := _PROGRAM.match(text, at):
            return _judge_program(text, program.end(), known.names)
        fence = _FENCE.match(text, at)
        if fence is None:
            return "text"
        at = fence.end()
        if text.startswith("```"):
            known = replace(known, at_start=True)
    if at == len(text):
        return "open"
    verdicts = [form(text[at:], known) for begins, form in FORMS if text[at] in begins or not begins]
    for verdict in verdicts:
        if isinstance(verdict, tuple):
            return at + verdict[0], verdict[1]
    return "begun" if "begun" in verdicts else "open" if "open" in verdicts else "text"


def _judge_program(text: str, at: int, names: AbstractSet[str]) -> Verdict | Found:
    """Judge a program in a fence by its calls of known tools. at: its beginning."""
    end = text.find("```", at)
    program = text[at : end if end >= 0 else len(text)]
    if end < 0:
        return "begun" if any(f"{name}(" in program for name in names) else "open"
    calls = _calls_in(program, names)
    return (end + 3, calls) if calls else "text"


def _calls_in(program: str, names: AbstractSet[str]) -> list[WrittenCall]:
    try:
        calls = read_calls(program)
    except MalformedToolCall:
        return []
    return [call for call in calls if call[0].removeprefix("functions.") in names]


def calls_at_end(text: str, names: AbstractSet[str]) -> list[WrittenCall]:
    """Return the calls in text that was begun when the reply ended; none if they cannot be read."""
    if program := _PROGRAM.match(text):
        return _calls_in(text[program.end() :], names)
    if (name := bracketed_name(text)) in names:
        return [(name or "", "{}")]
    fence = _FENCE.match(text)
    body = text[fence.end() if fence else 0 :].rstrip("` \n")
    if calls := yaml_calls(body, names):
        return calls
    found = find_name(body, names)
    return read_known(body[found[0] :] if isinstance(found, tuple) else body, names)
