"""Telephone numbers, in groups and figure by figure, and versions with dots."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, number_words
from voiceagent.text_normalization.rules import Rule, rule

_TELEPHONE_DIGITS = (7, 15)


def _read_telephone(match: re.Match[str], language: Language) -> str | None:
    minimum, maximum = _TELEPHONE_DIGITS
    if not minimum <= sum(character.isdecimal() for character in match[0]) <= maximum:
        return None
    digits = digit_words(match[0].replace("(0)", " "), language)
    plus = f"{language.signs['+']} " if match[0].startswith("+") and "+" in language.signs else ""
    return plus + digits if digits else None


def _read_version(match: re.Match[str], language: Language) -> str | None:
    """Read a version as numbers, or the four parts of an IP address figure by figure."""
    parts = match[0].split(".")
    in_words = digit_words if len(parts) == 4 else number_words
    parts = [in_words(part, language) or "" for part in parts]
    return f" {language.signs['.']} ".join(parts)


RULES: tuple[Rule, ...] = (
    rule(r"\+\d{1,3}(?:(?:[ .-]|[ ]?/[ ]?)?\(?\d{1,4}+\)?){2,7}+(?!\d)", _read_telephone),
    rule(r"(?:\d{1,2}[ .-])?(?:\(\d{3}\)[ ]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)", _read_telephone),
    rule(r"\d{3}-\d{4}(?![\d-])", _read_telephone),
    rule(r"0\d{1,4}(?:[ /-]\d{2,8}+){1,5}+(?!\d)", _read_telephone),
    rule(
        r"[6-9](?:\d{2}[ ]\d{3}[ ]\d{3}|\d{2}(?:[ ]\d{2}){3}|\d[ ]\d{3}[ ]\d{2}[ ]\d{2})(?![\w ]\d)",
        _read_telephone,
        "es",
    ),
    rule(r"\d{2,4}(?:-\d{2,4}){2,4}(?![\d-])", _read_telephone),
    rule(r"\d+(?:\.\d+){2,}", _read_version, "en"),
)
