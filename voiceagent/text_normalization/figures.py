"""Figures that are read one by one: telephone numbers, codes, long numbers; and dotted versions."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_before

MAX_NUMBER = 9
"""A longer row of figures is no quantity."""
_TELEPHONE_DIGITS = (7, 15)
_DIGITS_COME = re.compile(
    r"\b(?:code|pin|zip|id|extension|ext\.?|number\ is|call|dial|text"
    r"|(?:phone|confirmation|account|order|reference|card|booking)\ number)(?:\ is)?[:\#]?\ ?$",
    re.IGNORECASE,
)
"""What stands before a code or a number to dial, in English."""


def _read_telephone(match: re.Match[str], language: Language) -> str | None:
    minimum, maximum = _TELEPHONE_DIGITS
    if not minimum <= sum(character.isdecimal() for character in match[0]) <= maximum:
        return None
    digits = digit_words(match[0], language)
    plus = f"{language.signs['+']} " if match[0].startswith("+") and "+" in language.signs else ""
    return plus + digits if digits else None


def _read_code(match: re.Match[str], language: Language) -> str | None:
    asked = language.code == "en" and _DIGITS_COME.search(text_before(match))
    return digit_words(match[0], language) if len(match[0]) > MAX_NUMBER or asked else None


def _read_version(match: re.Match[str], language: Language) -> str | None:
    """Numbers, or figures one by one in the four parts of an internet address."""
    parts = match[0].split(".")
    in_words = digit_words if len(parts) == 4 else number_words
    parts = [in_words(part, language) or "" for part in parts]
    return f" {language.signs['.']} ".join(parts)


RULES: tuple[Rule, ...] = (
    rule(r"\+\d{1,3}(?:[ .-]?\(?\d{1,4}\)?){2,6}(?!\d)", _read_telephone),
    rule(r"(?:\d{1,2}[ .-])?(?:\(\d{3}\)[ ]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)", _read_telephone),
    rule(r"\d{3}-\d{4}(?![\d-])", _read_telephone),
    rule(r"0\d{1,4}(?:[ /-]\d{2,8}){1,5}(?!\d)", _read_telephone),
    rule(r"\d{2,4}(?:-\d{2,4}){2,4}(?![\d-])", _read_telephone),
    rule(r"\d{3,}(?![\w%]|[.,:/]\d)", _read_code),
    rule(r"\d+(?:\.\d+){2,}", _read_version, "en"),
)
