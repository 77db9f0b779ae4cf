"""Calls without a mark that are explained, not made: 'weather(city="Rome") returns a dictionary.'

Code that words follow in the same line, as in a sentence, is read out: a tool must never run by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

from llmcore.text.call_forms import find_name
from llmcore.text.written_calls import ARGUMENT_KEYS

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


def is_explained(behind: str, names: AbstractSet[str], ended: bool) -> bool | None:
    """Return True if the text behind a call continues its sentence, None if more text is needed.

    ended: there is no more text.
    """
    words = behind.lstrip(_CLOSES)
    if words.startswith(","):
        words = words[1:].lstrip(" ")
    if not words:
        return False if ended else None
    if not words[0].islower():
        return False
    call = find_name(words, names)  # another one
    if not ended and (call == "open" or (isinstance(call, tuple) and call[1] == len(words))):
        return None  # the word may go on: "call", "calls"
    return not isinstance(call, tuple)
