"""House numbers and postal codes in addresses."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language, find_language
from voiceagent.text_normalization.numbers import digit_words, in_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_before
from voiceagent.text_normalization.units import is_about_temperature

_STREETS = (
    "St|Street|Ave|Avenue|Blvd|Boulevard|Rd|Road|Dr|Drive|Ln|Lane|Way|Ct|Court|Pl|Place|Sq|Square|Pkwy|Parkway"
    "|Hwy|Highway|Terrace|Ter|Circle|Cir|Close|Crescent|Row|Alley|Walk|Quay|Plaza|Trail|Gardens|Broadway"
)
_STATES = find_language("en").states
_UNMISTAKABLE_STATES = [
    letters for letters in _STATES if letters not in ("MD", "MS", "OK", "ME", "HI", "OR", "IN", "PA", "DC")
]
"""Letters of states that are no word or title."""
POINTED_STATES = r"D\.C\.|N\.[CDHJMVY]\.|R\.I\.|S\.[CD]\.|W\.V\."
"""States that are written with stops; "L.A." is a city, and "I.D." a document."""
_AFTER_CITY = re.compile(r"\b[A-Z][a-z]{2,},[ ]$")
_AFTER_STREET = re.compile(rf"\b[A-Z\d]\w*[ ](?:{_STREETS})\.?,?[ ]$")
_DEGREES = re.compile(r"\d°(?:[ ]?\d{1,2}['’′](?:[ ]?\d{1,2}[\"″])?)?[ ]?$")
_DIRECTIONS = {"N": "north", "S": "south", "E": "east", "W": "west"}


def house_number_words(digits: str, language: Language) -> str | None:
    """Return an English house number in words: "forty-eight twenty-one", "three oh five", "ten oh five"."""
    if len(digits) < 3 or digits.startswith("0"):
        return number_words(digits, language)
    if len(digits) > 4 or digits.endswith("000"):
        return digit_words(digits, language) if len(digits) > 4 else in_words(int(digits), language)
    first, last = int(digits[:-2]), int(digits[-2:])
    start = in_words(first, language)
    if last == 0:
        return f"{start} hundred"
    return f"{start} {'oh ' if last < 10 else ''}{in_words(last, language)}"


def _read_house(match: re.Match[str], language: Language) -> str | None:
    return house_number_words(match[1], language)


def _read_house_and_letter(match: re.Match[str], language: Language) -> str | None:
    return f"{house_number_words(match[1], language)} {match[2]}"


def _read_number_and_letter(match: re.Match[str], language: Language) -> str | None:
    if match[2] in "CF" and is_about_temperature(match):
        return None
    return f"{number_words(match[1], language)} {match[2].upper()}"


def _read_state_and_zip(match: re.Match[str], language: Language) -> str | None:
    return f"{_STATES[match[1]]} {digit_words(match[2], language)}"


def _read_pointed_state_and_zip(match: re.Match[str], language: Language) -> str:
    """Read "D.C. 20001"."""
    return f"{_STATES[match[1].replace('.', '')]} {digit_words(match[2], language)}"


def _read_direction(match: re.Match[str], _: Language) -> str:
    return "".join(_DIRECTIONS[letter] for letter in match[1]).capitalize()


def _read_latitude(match: re.Match[str], _: Language) -> str | None:
    """Read the direction of "40.7° N" and "37°46'N"."""
    return _DIRECTIONS[match[1]] if _DEGREES.search(text_before(match, 12)) else None


def _read_direction_after_street(match: re.Match[str], language: Language) -> str | None:
    """Read "Pennsylvania Ave NW"."""
    after_street = _AFTER_STREET.search(text_before(match, 40))
    return _read_direction(match, language) if after_street else None


def _read_road(match: re.Match[str], language: Language) -> str:
    return f"{match[1]} {house_number_words(match[2], language)}"


def _read_state(match: re.Match[str], _: Language) -> str | None:
    """Read a state after its city: "Boston, MA"."""
    return _STATES[match[0]] if _AFTER_CITY.search(text_before(match, 30)) else None


def _read_dutch_code(match: re.Match[str], language: Language) -> str | None:
    """Read a Dutch postal code: "1012 AB"."""
    return f"{digit_words(match[1], language)}, {match[2]} {match[3]}"


def _read_model(match: re.Match[str], language: Language) -> str:
    """Read "747" or "737-800" after its maker."""
    return ", ".join(filter(None, (house_number_words(part, language) for part in match.groups() if part)))


def _read_digits(match: re.Match[str], language: Language) -> str | None:
    return digit_words(match[0], language)


_NAME = r"[ ](?:[NSEW]\.?|[A-Z][\w'’]*\.?|\d{1,3}(?:st|nd|rd|th))"
RULES: tuple[Rule, ...] = (
    rule(rf"(\d{{1,5}})(?=(?:{_NAME}){{1,3}}?[ ](?:{_STREETS})\b)", _read_house, "en"),
    rule(r"(\d{3,4})(?=[ ](?:Broadway|Main)\b)", _read_house, "en"),
    rule(rf"(\d{{3,4}})([A-F])(?=(?:{_NAME}){{1,3}}?[ ](?:{_STREETS})\b)", _read_house_and_letter, "en"),
    rule(
        r"(?:(?<=Boeing[ ])|(?<=Porsche[ ])|(?<=Peugeot[ ]))(\d{3})(?:-(\d{3}))?(?![\w,.]?\d)",
        _read_model,
        "en",
    ),
    rule(r"(\d{1,4})([A-F])(?![\w-])", _read_number_and_letter, "en"),
    rule(r"(\d{1,4})[ ]?([a-f])(?=[,.;]|[ ]?$)", _read_number_and_letter, "de"),
    rule(r"(?:(?<=\d,[ ])|(?<=\d[a-z],[ ]))\d{5}(?=[ ][A-ZÄÖÜ])", _read_digits, "de"),
    rule(r"(?<=[^\W_],[ ])\d{5}(?=[ ][A-ZÁÉÍÓÚ])", _read_digits, "es", "fr", "it"),
    rule(r"(\d{4})[ ]?([A-Z])([A-Z])(?![\w'’])", _read_dutch_code, "nl"),
    rule(r"(?<=in[ ])\d{5}(?=[ ][A-ZÄÖÜ][a-zäöü])", _read_digits, "de"),
    rule(r"(?<=C[.]P[.][ ])\d{5}\b", _read_digits, "es"),
)
NAME_RULES: tuple[Rule, ...] = (
    rule(rf"([NS][EW]|[NSEW])\.?(?={_NAME}[ ](?:{_STREETS})\b)", _read_direction, "en"),
    rule(r"([NSEW])\b(?![.'’]\w)", _read_latitude, "en"),
    rule(r"([NS][EW]|[NSEW])\b(?![.'’])", _read_direction_after_street, "en"),
    rule(r"(I|US|SR)-(\d{1,3})\b", _read_road, "en"),
    rule(rf"({'|'.join(_STATES)})\.?[ ](\d{{5}}(?:-\d{{4}})?)(?!\d)", _read_state_and_zip, "en"),
    rule(rf"({POINTED_STATES})[ ](\d{{5}})(?!\d)", _read_pointed_state_and_zip, "en"),
    rule(rf"(?:{'|'.join(_UNMISTAKABLE_STATES)})\b", _read_state, "en"),
    rule(
        r"(?<=\d[ ])([NS]?[EW]|[NS])\b\.?(?=[ ](?:[A-Z][a-z]|\d{1,3}(?:st|nd|rd|th)\b))",
        _read_direction,
        "en",
    ),
)
