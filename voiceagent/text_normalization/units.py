"""Units of measure with their numbers."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import counting_words
from voiceagent.text_normalization.languages import Language, Unit, word_set
from voiceagent.text_normalization.numbers import number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before

_MINUTES_FOLLOW_HOURS = re.compile(r"\d\s?(?:h|hrs?|d|hours?|Std\.?|Stunden?|horas?),?\s?$")
_SECONDS_FOLLOW = re.compile(r"\s?\d{1,2}\s?s(?:ec)?\b")
_CLEAR_SYMBOLS = frozenset(["mph", "kWh", "kHz", "MHz", "GHz", "Mbps", "Gbps", "mmHg"])
"""Symbols of units that are no words and no names."""
_MAX_INCHES = 11
"""The most inches after feet; 3'45" are minutes and seconds."""
_MEASURES = re.compile(r"x\d|[ ](?:x|by|long|wide|tall|deep|high|thick|across)\b")
"""Words after a length."""
_NO_NOUNS = word_set(
    "x by long wide tall deep high thick across apart longer wider taller shorter square more less too "
    "and or but so if than as not only to in of from above below each at for on with per off up down away "
    "between behind beside around along into over under within without inside outside when while because "
    "since until after before last this next now then here there today tonight tomorrow yesterday the a "
    "an i it we you he she they which that is are was were be has have had can will would should may must "
    "expected early late ago once twice daily please"
)
"""Words after an inch mark that it does not describe: in "a new 27" monitor" the word after it is a noun."""
_BY_BEFORE = re.compile(r"\d['’′\"″]?[ ]?(?:x|×|by)[ ]?$")
_TEMPERATURES = re.compile(
    r"\b(?:weather|temperatures?|degrees|outside|warm|cold|cool|hot|sunny|rainy|cloudy|windy|forecast|fever|oven"
    r"|bake|preheat|(?:high|low)s?[ ](?:of|is|around|near)|feels[ ]like)\b",
    re.IGNORECASE,
)


def _read_unit(match: re.Match[str], language: Language) -> str | None:
    symbol = match["unit"]
    if symbol == "s" and re.search(r"\b(?:under|over)-$|\dx$", text_before(match, 8)):
        return None  # "under-12s", "2x4s"
    if symbol == "d" and not re.match(r"\s?\d{1,2}\s?h", text_after(match, 6)):
        return None
    minutes = symbol == "m" and (
        _MINUTES_FOLLOW_HOURS.search(text_before(match, 12)) or _SECONDS_FOLLOW.match(text_after(match, 8))
    )
    unit = language.units["min" if minutes else symbol]
    if match["gap"] == "-" and language.code == "en":  # "a five minute walk"
        return f"{number_words(match['amount'], language)} {unit.one}"
    following = re.match(r"[ ]([a-z]+)", text_after(match, 16)) if language.code == "en" else None
    if following and word_before(match) in ("a", "an") and following[1] not in _NO_NOUNS:  # "a 64 GB model"
        return f"{number_words(match['amount'], language)} {unit.one}"
    words = _amount_of(match["amount"], unit, match, language)
    return f"{words}." if words and _ends_sentence(match, language) else words


def _read_inches(match: re.Match[str], language: Language) -> str | None:
    """Read a quotation mark after a number as inches, unless it closes a quotation."""
    if len(re.findall(r'(?<!\d)"', text_before(match))) % 2:
        return None
    unit = language.units["in."]
    following = re.match(r"[ ]([a-z]+)", text_after(match, 16))
    if word_before(match) in ("a", "an") or (following and following[1] not in _NO_NOUNS):
        return f"{number_words(match['amount'], language)} {unit.one}"
    return _amount_of(match["amount"], unit, match, language)


def _ends_sentence(match: re.Match[str], language: Language) -> bool:
    """Return True if the full stop of "10 min." also ends its sentence; a German noun may follow it."""
    if not match[0].endswith("."):
        return False
    following = "$" if language.code == "de" else "$|[A-ZÀ-Þ¿¡]"
    return re.match(rf"\s*(?:{following})", text_after(match, 12)) is not None


def _amount_of(amount: str, unit: Unit, match: re.Match[str], language: Language) -> str | None:
    words = counting_words(amount, language, unit.gender, word_before(match))
    return f"{words} {unit.one if amount == '1' else unit.many}" if words else None


def _read_feet_alone(match: re.Match[str], language: Language) -> str | None:
    """Read "6'" before or after another length, or before what it measures, as feet."""
    one = word_before(match) in ("a", "an") and re.match(r"[ ][a-z]", text_after(match, 2))
    if not (one or _BY_BEFORE.search(text_before(match, 12)) or _MEASURES.match(text_after(match, 12))):
        return None
    if one:
        return f"{number_words(match['amount'], language)} {language.units['ft'].one}"
    return _amount_of(match["amount"], language.units["ft"], match, language)


def _read_inches_before_their_measure(match: re.Match[str], language: Language) -> str | None:
    """Read "in" before "wide" and the like, or behind two sides before a noun: "8.5 x 11 in paper"."""
    if not (_MEASURES.match(text_after(match, 12)) or _BY_BEFORE.search(text_before(match, 12))):
        return None
    return _amount_of(match["amount"], language.units["in."], match, language)


def _read_temperature(match: re.Match[str], language: Language) -> str | None:
    if not is_about_temperature(match):
        return None
    return _amount_of(match["amount"], language.units[f"°{match['scale']}"], match, language)


def is_about_temperature(match: re.Match[str]) -> bool:
    """Return True if the text around "68F" is about a temperature; seats and gates look alike."""
    return _TEMPERATURES.search(f"{text_before(match, 80)} {text_after(match, 60)}") is not None


def _read_feet(match: re.Match[str], language: Language) -> str:
    if int(match[2]) > _MAX_INCHES:
        minutes, seconds = (
            _amount_of(match[at], language.units[unit], match, language)
            for at, unit in ((1, "min"), (2, "s"))
        )
        return f"{minutes} {seconds}"
    return f"{number_words(match[1], language)} foot {number_words(match[2], language)}"


def _read_hours_and_minutes(match: re.Match[str], language: Language) -> str:
    amounts = ((match["hours"], "h"), (match["minutes"].lstrip("0"), "min"))
    parts = [_amount_of(amount, language.units[unit], match, language) for amount, unit in amounts if amount]
    return " ".join(filter(None, parts))


def stop_pattern(language: Language) -> str:
    """Return the regular expression of a unit's full stop inside a sentence: "2 tsp. of sugar"."""
    following = "a-zäöü0-9" if language.code == "de" else "a-z0-9"
    return rf"(?:\.(?=[,;:]|[ ][{following}]))?"


def unit_name_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for units without a number, as in "in km/h"; short symbols may be other words."""
    alone = [re.escape(unit) for unit in language.units if "/" in unit or unit in _CLEAR_SYMBOLS]
    if not alone:
        return ()
    pattern = "|".join(sorted(alone, key=len, reverse=True))
    return (rule(rf"(?:{pattern})(?![\w/'’])", lambda match, language: language.units[match[0]].many),)


def unit_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for numbers with units; none if the language has no names of units."""
    if not language.units:
        return ()
    amount = rf"(?P<amount>{number_pattern(language)})"
    symbols = sorted(language.units, key=len, reverse=True)
    units = "|".join(re.escape(symbol) for symbol in symbols)
    return (
        rule(
            r"(\d{1,2})(?:['’′][ ]?|[ ]?ft\.?[ ])(\d{1,2})(?:[\"″]|[ ]?in\b(?:\.(?=[ ][a-z]|[,;]))?)",
            _read_feet,
            "en",
        ),
        rule(rf'{amount}"(?:(?!\w)|(?=x\d))', _read_inches, "en"),
        rule(rf"{amount}['’′](?:(?![\w'’])|(?=x\d))", _read_feet_alone, "en"),
        rule(rf"{amount}[ ]?(?P<scale>[CF])(?![\w'’-])", _read_temperature, "en"),
        rule(
            rf"{amount}[ ]in(?={_MEASURES.pattern}|[ ](?:paper|pipe|screen|frame|board)s?\b)",
            _read_inches_before_their_measure,
            "en",
        ),
        rule(r"(?P<hours>\d{1,2})h[ ]?(?P<minutes>[0-5]\d)(?:m|min)?\b(?![:.]\d)", _read_hours_and_minutes),
        rule(
            rf"{amount}(?P<gap>[ \u00a0\u202f-]?)(?P<unit>{units})(?![\w'’]){stop_pattern(language)}",
            _read_unit,
        ),
    )
