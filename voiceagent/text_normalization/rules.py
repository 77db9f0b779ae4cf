"""A rule: something that is not spoken as it is written, and how it is spoken."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.text_normalization.languages import Language

Read = Callable[[re.Match[str], Language], str | None]
"""The words for a match: "" is silence, " " parts words, None means that the match is something else after
all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What matches `pattern` is spoken as `read` says, in `languages` or, without them, in all."""

    pattern: re.Pattern[str]
    read: Read
    languages: tuple[str, ...] = ()


def rule(pattern: str, read: Read, *languages: str, flags: int = 0) -> Rule:
    """A rule, its pattern in the verbose form of `re`."""
    return Rule(re.compile(pattern, re.VERBOSE | flags), read, languages)


def text_before(match: re.Match[str]) -> str:
    """What stands before a match, as far as a rule may care."""
    return match.string[max(0, match.start() - 40) : match.start()]
