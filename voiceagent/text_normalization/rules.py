"""A rule of text normalization: a pattern and its spoken form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.text_normalization.languages import Language

Read = Callable[[re.Match[str], Language], str | None]
"""Function that returns the words for a match: "" is silence, " " separates words, "," is a pause, None
rejects the match.
"""
CONTEXT_CHARS = 100
"""Characters around a match that a rule may read. The bound keeps the run time linear in the text."""
_LAST_WORD = re.compile(r"(?P<word>[^\W_]+)[^\w]*$")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, and the function that returns the words for its match.

    languages: where it applies; () for all.
    """

    pattern: re.Pattern[str]
    read: Read
    languages: tuple[str, ...] = ()


def rule(pattern: str, read: Read, *languages: str, flags: int = 0) -> Rule:
    """Return a rule. Its pattern is in the verbose form of `re`."""
    return Rule(re.compile(pattern, re.VERBOSE | flags), read, languages)


def text_before(match: re.Match[str], chars: int = CONTEXT_CHARS) -> str:
    """Return the last `chars` characters before a match."""
    return match.string[max(0, match.start() - chars) : match.start()]


def text_after(match: re.Match[str], chars: int = CONTEXT_CHARS) -> str:
    """Return the first `chars` characters after a match."""
    return match.string[match.end() : match.end() + chars]


def word_before(match: re.Match[str]) -> str:
    """Return the last word before a match in lower case, "" without one."""
    found = _LAST_WORD.search(text_before(match, 30))
    return found["word"].lower() if found else ""
