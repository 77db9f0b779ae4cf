"""Markdown, emoji and other symbols that are not spoken."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule, text_before

LINE_START = re.compile(
    r"""
      \#{1,6}(?=\s)                        # heading
    | [-*+•](?=\s)                         # list
    | (?:\[[ xX]\])(?=\s)                  # task in a list
    | >                                    # quotation
    | (?:(?:\*\s?){3,40}|(?:-\s?){3,40}|(?:_\s?){3,40}|={3,40})(?=\s{0,9}$)   # line across the page
    | \|(?:\s{0,9}:?-{1,40}:?\s{0,9}\|){1,20}(?=\s{0,9}$)        # line below the head of a table
    | \|                                   # table
    """,
    re.VERBOSE | re.MULTILINE,
)
"""Markup at the beginning of a line."""

_PICTURES = (
    "\U0001f000-\U0001faff"  # emoji, flags, cards
    "\u2190-\u2191\u2193-\u21ff"  # arrows but the one to the right
    "\u2300-\u23ff\u2460-\u24ff\u2500-\u27bf\u2b00-\u2bff"  # technical and other symbols, dingbats, stars
    "\u3030\u303d\u3297\u3299"
    "\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f"  # modifiers of the picture before them
    "™®©"
)
_CITED = r"\[[1-9]\d?(?:(?:,[ ]?|[-–])\d{1,2})*\]"
_NAMES_A_NUMBER = re.compile(
    r"\b(?:see|notes?|in|and|or|of|from|to|with|items?|options?|press|refs?|references?|steps?|is|are|numbers?|dial"
    r"|keys?|enter|type|hit|say|choose|select|pick|add|then|answers?|questions?|buttons?|digits?|lines?|pages?"
    r"|figures?|tables?|chapters?|extension|room|code)\s$",
    re.IGNORECASE,
)


def _nothing(match: re.Match[str], _: Language) -> str:
    return ""


def _citation(match: re.Match[str], _: Language) -> str | None:
    """Leave out the number of a source at the end of a clause: "the capital [3]."; not a key, "dial [9]"."""
    return None if _NAMES_A_NUMBER.search(text_before(match, 12)) else ""


RULES: tuple[Rule, ...] = (
    rule(rf"(?<=[\w.,;:!?%)\]\"”])(?<!\b[^\W\d]){_CITED}", _nothing),
    rule(rf"(?<=[\w%)][ ]){_CITED}(?=[.,;:!?\[]|[ ]?$)", _citation, "en"),
    rule(r"【\d{1,3}(?::\d{1,3})?†[^】]{0,60}】", _nothing),
    rule(r"\[\^(?!\w-\w)[\w-]{1,30}\]:?", _nothing),  # footnotes, but no "[^0-9]"
    rule(r":contentReference\[oaicite:\d{1,3}\](?:\{index=\d{1,3}\})?", _nothing),  # citations of ChatGPT
    rule(r"```[\w+-]*", _nothing),
    rule(r"`+ | \*\*+ | __+ | ~~+ | \|+", _nothing),
    rule(r"!?\[(?=[^\]]{0,200}\][(\[])", _nothing),
    rule(r"\](?:\([^)]{0,300}\)|\[[^\]]{0,100}\])", _nothing),
    rule(r"\\(?=[^\w\s])", _nothing),
    rule(r"==+(?=\w)|(?<=\w)==+", _nothing),
    rule(r"(?<![\w:]):[a-z][a-z_]{1,29}:(?!\w)", _nothing),
    rule(r"(?<!\w)[:;]-?[)(DPp](?!\w)|(?<![^\s])(?<!\d[ ])<3+(?=!*[ ]?$)|¯\\?\\?_\(ツ\)_/¯", _nothing),
    rule(rf"[{_PICTURES}]+(?:\u200d[{_PICTURES}]+)*", _nothing),
    rule(r"(?<=\w)\((?=e?s\))", _nothing),
    rule(r"(?<=\d)\*(?=\d) | (?<=\d[ ])\*(?=[ ]\d)", lambda _, language: language.signs.get("×")),
    rule(r"\*", _nothing),
)
