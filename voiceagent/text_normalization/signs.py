"""Signs that are spoken by name."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before


def _read_sign(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get(match[0], match[0])


def _read_colon(_: re.Match[str], language: Language) -> str | None:
    return language.signs.get("–")


def _read_range(match: re.Match[str], language: Language) -> str | None:
    """Read a dash between possible ends of a range; before "=" it is a minus."""
    before = text_before(match, 12)
    spaced = before.endswith(" ")
    if spaced != match[0].endswith(" ") or not _RANGE_START.search(before):
        return None
    subtracts = spaced and "=" in text_after(match, 16)
    return language.signs.get("−" if subtracts else "–")


def _read_key(match: re.Match[str], language: Language) -> str | None:
    before = text_before(match, 16)
    known = before.endswith(" ") and word_before(match) in _BEFORE_KEYS
    return _KEYS[language.code][match[0]] if known else None


def _read_minus(_: re.Match[str], language: Language) -> str | None:
    return language.signs.get("−")


_MONEY = "[$€£¥₹₩¢]"
_KEYS = {
    "en": {"*": "star", "#": "pound"}, "de": {"*": "Stern", "#": "Raute"},
    "es": {"*": "asterisco", "#": "almohadilla"},
}  # fmt: skip
"""Keys of a telephone: "press #"."""
_BEFORE_KEYS = frozenset(
    [
        "press",
        "dial",
        "hit",
        "or",
        "and",
        "the",
        "die",
        "mit",
        "oder",
        "drücken",
        "tecla",
        "pulse",
        "marque",
        "o",
    ]
)
_PER = {"en": "per", "de": "pro", "es": "por", "fr": "par", "it": "al", "nl": "per", "pt": "por"}
RANGE_START = (
    r"(?:[\d%°$€£¥₹₩¢]|\d\.|\d(?:st|nd|rd|th)|\d\s?[apAP]\.?\s?[mM]\.?"
    r"|\d\s?(?:Uhr|uur|h|hs|[A-Z]{3}))\s?"
)
"""Matches the end of the first half of a range, before its dash: "9 am", "$10"."""
_RANGE_START = re.compile(RANGE_START + "$")
RULES: tuple[Rule, ...] = (
    rule(rf"[-–—][ ]?(?={_MONEY}?\d|[A-Z][a-zä]{{2,9}}\.?[ ]\d)", _read_range),
    rule(rf"(?<![\w.)\]%])[-−](?={_MONEY}?\d)", _read_minus),
    rule(r"(?<=\d):(?=\d)", _read_colon),
    *(
        rule(r"(?<=[\d$€£¢])[ ]?/[ ]?(?=[^\W\d_])", lambda match, language: _PER[language.code], code)
        for code in _PER
    ),
    rule(r"&amp;", lambda match, language: language.signs.get("&")),
    rule(r"(?<=\w)/(?=\w) | [&@+=×÷±−°%§→≈≤≥] | [<>~\#](?=[ ]?\d) | [$€£¥₹₩¢]", _read_sign),
)
KEY_RULES: tuple[Rule, ...] = (rule(r"[*\#](?=\d{2,3}\b|[ ,.;!?]|$)", _read_key, "en", "de", "es"),)
"""Rules for signs that Markdown would otherwise consume."""
