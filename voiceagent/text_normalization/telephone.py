"""Telephone numbers, in groups and figure by figure, and versions with dots."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_before

_TELEPHONE_DIGITS = (7, 15)


def _read_telephone(match: re.Match[str], language: Language) -> str | None:
    minimum, maximum = _TELEPHONE_DIGITS
    if not minimum <= sum(character.isdecimal() for character in match[0]) <= maximum:
        return None
    digits = digit_words(match[0].replace("(0)", " "), language)
    plus = f"{language.signs['+']} " if match[0].startswith("+") and "+" in language.signs else ""
    return plus + digits if digits else None


def _read_extension(match: re.Match[str], language: Language) -> str | None:
    after_number = re.search(r"\d{3}[ .-]\d{4},?[ ]$", text_before(match, 12))
    return f"extension {digit_words(match[1], language)}" if after_number else None


def _read_version(match: re.Match[str], language: Language) -> str | None:
    """Read a version as numbers, or the four parts of an IP address figure by figure."""
    parts = match["version"].split(".")
    if len(parts) == 5 and len(parts[0]) == 2:  # a French telephone number
        return digit_words(match["version"], language)
    in_words = digit_words if len(parts) == 4 else number_words
    parts = [in_words(part, language) or "" for part in parts]
    words = f" {language.signs['.']} ".join(parts)
    return f"{match['v']} {words}" if match["v"] else words


def _read_letters_of_keys(match: re.Match[str], language: Language) -> str:
    """Read "1-800-FLOWERS": its letters stand for keys."""
    prefix = [digit_words("1", language)] if match["long"] else []
    tens = (
        number_words(match["area"], language)
        if match["area"].endswith("00")
        else digit_words(match["area"], language)
    )
    rest = [digit_words(part, language) if part.isdecimal() else part for part in match["rest"].split("-")]
    return ", ".join(filter(None, [*prefix, tens, *rest]))


def _read_short_version(match: re.Match[str], language: Language) -> str | None:
    """Read "Python 3.12" as three point twelve."""
    if not _VERSIONED.search(text_before(match, 24)):
        return None
    return f"{number_words(match[1], language)} {language.point} {number_words(match[2], language)}"


_VERSIONED = re.compile(
    r"\b(?:[Vv]ersions?|[Rr]elease|Python|Node(?:\.js)?|Java|PHP|Ruby|Rust|Kubernetes|Django|Rails|PyTorch|TensorFlow"
    r"|CUDA|PostgreSQL|macOS|iOS|Android|Chrome|Firefox|Kotlin|Swift|TypeScript|Linux|kernel)[ ]$"
)
"""Names before a version."""
LETTERED_RULES: tuple[Rule, ...] = (
    rule(
        r"(?P<long>1[ -])?(?P<area>8(?:00|33|44|55|66|77|88))-"
        r"(?P<rest>(?:\d{1,4}-)?[A-Z]{3,}(?:-?[A-Z\d]{1,8})*)\b",
        _read_letters_of_keys,
        "en",
    ),
)
"""Rules for numbers with letters."""
RULES: tuple[Rule, ...] = (
    rule(r"(\d{1,3})\.([1-9]\d)(?![\d.]\d|\d)", _read_short_version, "en"),
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
    rule(r"\(0\d{1,5}\)(?:[ /-]?\d{2,8}+){1,5}+(?!\d)", _read_telephone),
    rule(r"\(\d{2}\)[ ]\d{4,5}[ -]\d{4}(?!\d)", _read_telephone),
    rule(r"(?P<v>(?!))?(?!\d{1,3}(?:\.\d{3})+(?!\.?\d))(?P<version>\d+(?:\.\d+){2,})", _read_version),
)
POINTED_RULES: tuple[Rule, ...] = (
    rule(
        r"(?P<v>(?!))?(?P<version>\d{1,2}\.\d{1,2})(?![\d.])",
        _read_version,
        *("de", "es", "fr", "it", "nl", "pt"),
    ),
)
"""Rules for a full stop between figures that is no decimal point in the language: "Version 2.0"."""
EXTENSION_RULES: tuple[Rule, ...] = (rule(r"x[ ]?(\d{1,6})\b", _read_extension, "en"),)
"""Rules for an extension after its number: "555-0100 x12"."""
VERSION_RULES: tuple[Rule, ...] = (rule(r"(?P<v>v)(?P<version>\d+(?:\.\d+){1,3})(?!\w)", _read_version),)
"""Rules for versions with a letter: "v1.2.3"."""
