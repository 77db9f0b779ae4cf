"""Markdown and pictures: what is written for the eye and not spoken."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule

LINE_START = re.compile(
    r"""
      \#{1,6}(?=\s)                        # heading
    | [-*+•](?=\s)                         # list
    | (?:\[[ xX]\])(?=\s)                  # task in a list
    | >                                    # quotation
    | (?:(?:\*\s?){3,}|(?:-\s?){3,}|(?:_\s?){3,}|={3,})(?=\s*$)   # line across the page
    | \|(?:\s*:?-+:?\s*\|)+(?=\s*$)        # line below the head of a table
    | \|                                   # table
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Marks that mean something at the beginning of a line."""

_PICTURES = (
    "\U0001f000-\U0001faff"  # emoji, flags, cards
    "\u2190-\u2191\u2193-\u21ff"  # arrows but the one to the right
    "\u2300-\u23ff\u2460-\u24ff\u2500-\u27bf\u2b00-\u2bff"  # technical and other symbols, dingbats, stars
    "\u3030\u303d\u3297\u3299"
    "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"  # what varies the picture before it
    "™®©"
)
_TAGS = "a|b|br|code|div|em|h[1-6]|hr|i|img|li|ol|p|pre|s|small|span|strong|sub|sup|table|td|th|tr|u|ul"


def _nothing(match: re.Match[str], _: Language) -> str:
    return ""


RULES: tuple[Rule, ...] = (
    rule(r"```[\w+-]*", _nothing),
    rule(r"`+ | \*\*+ | __+ | ~~+ | \|+", _nothing),
    rule(r"!?\[(?=[^\]]{0,200}\][(\[])", _nothing),
    rule(r"\](?:\([^)]*\)|\[[^\]]*\])", _nothing),
    rule(rf"</?(?:{_TAGS})\b[^<>]{{0,200}}>", lambda match, _: " "),
    rule(r"\\(?=[^\w\s])", _nothing),
    rule(r"(?<!\w)[:;]-?[)(DPp](?!\w)", _nothing),
    rule(rf"[{_PICTURES}]+(?:\u200d[{_PICTURES}]+)*", _nothing),
    rule(r"(?<=\w)\((?=e?s\))", _nothing),
    rule(r"(?<=\d)\*(?=\d) | (?<=\d[ ])\*(?=[ ]\d)", lambda _, language: language.signs.get("×")),
    rule(r"\*", _nothing),
)
