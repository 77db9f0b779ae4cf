"""Times of day."""

from __future__ import annotations

import re
from collections.abc import Mapping

from voiceagent.text_normalization.agreement import counting_words
from voiceagent.text_normalization.languages import MONEY_SIGNS, Language
from voiceagent.text_normalization.numbers import in_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before
from voiceagent.text_normalization.sentence_ends import ends_after_abbreviation

_MARKS = {"de": "Uhr|h", "nl": "uur|u", "fr": "h|heures", "es": "h|hs|hrs|horas", "pt": "h|horas", "it": "h"}
"""Marks after a number that make it a time."""
_SHORT_MINUTES = {"es": "y ", "it": "e ", "pt": "e "}
"""Words before minutes below ten."""
_BEFORE_HOURS = {
    "de": r"\b(?:um|ab|bis|gegen|von|zwischen|nach|vor)", "es": r"\b(?:las?|hasta)|\d\s?(?:a|-|–|y)",
    "nl": r"\b(?:om|rond|vanaf|tot)",
    "pt": r"\b(?:às?|as|até)|\d\s?(?:a|-|–|e)", "it": r"\b(?:alle|ore|dalle)|\d\s?(?:-|–)",
}  # fmt: skip
"""Words before an hour of the day: "a las 14 h"; without them "2 h" are two hours."""


_RATIO_BEFORE = re.compile(
    r"\b(?:ratios?|odds|scale|proportions?|dilut(?:e|ed|ion)|verhältnis|maßstab|verdünn\w*|proporción|escala)\b"
    r"[^.!?\d]{0,24}$",
    re.IGNORECASE,
)
"""Words before a ratio, which is written as a time is: "a scale of 1:50"."""
_NO_SUM = rf"(?![.,:]?\d|[ ]?[{MONEY_SIGNS}%]|[ ](?:[A-Z]{{3}}|[Ee]uro?s?)\b)"
"""No sum of money, version or date follows."""


def clock_words(hour: int, minute: int, language: Language) -> str | None:
    """Return the words of a time of day on the clock of 24 hours; None if there is no such hour."""
    return _english_clock(hour, minute, language) if language.code == "en" else _clock(hour, minute, language)


def _hour_words(hour: int, language: Language) -> str | None:
    return counting_words(str(hour), language, "n" if language.code == "de" else "f", "")


def _read_short_hours(match: re.Match[str], language: Language) -> str:
    """Read "8a-5p"."""
    start, end = (f"{number_words(match[at], language)} {match[at + 1].upper()}M" for at in (1, 3))
    return f"{start} {language.signs['–']} {end}"


def _read_time(match: re.Match[str], language: Language) -> str | None:
    if _RATIO_BEFORE.search(text_before(match, 40)):
        return None
    hour, groups = int(match["hour"]), match.groupdict()
    words = _clock(hour, int(match["minute"]), language)
    if words is None:
        return None
    half = _spanish_half(groups.get("half"), hour) if language.code == "es" else ""
    return _with_full_stop(_with_seconds(" ".join(filter(None, (words, half))), groups, language), match)


def _clock(hour: int, minute: int, language: Language) -> str | None:
    if hour > 24:
        return None
    between = "heure" if language.code == "fr" and hour == 1 else language.hour
    minutes = in_words(minute, language) if minute else ""
    if minute and (minute < 10 or language.code == "pt"):
        minutes = f"{_SHORT_MINUTES.get(language.code, '')}{minutes}"
    return " ".join(filter(None, (_hour_words(hour, language), between, minutes)))


def _with_seconds(words: str, groups: Mapping[str, str | None], language: Language) -> str:
    """Return a time with its seconds, if it has any: "14:30:05"."""
    unit, seconds = language.units.get("s"), int(groups.get("second") or 0)
    if not seconds or unit is None:
        return words
    counted = counting_words(str(seconds), language, unit.gender)
    return f"{words} {language.signs['&']} {counted} {unit.one if seconds == 1 else unit.many}"


def _read_dotted_time(match: re.Match[str], language: Language) -> str | None:
    """Read "8.30" after a word for a time of day: "um 8.30"."""
    said = re.search(rf"(?:{_BEFORE_HOURS[language.code]})\s?$", text_before(match, 16))
    until = re.match(r"\s?[-–]\s?\d{1,2}\.[0-5]\d(?!\d)", text_after(match, 10))
    return _read_time(match, language) if said or (until and language.code == "it") else None


def _spanish_half(half: str | None, hour: int) -> str:
    if not half:
        return ""
    if half[0].lower() == "a":
        return "de la mañana" if hour < 12 else "de la noche"
    return "del mediodía" if hour == 12 else "de la tarde" if hour < 8 else "de la noche"


def _with_full_stop(words: str, match: re.Match[str]) -> str:
    """Return a time, with the full stop of "p. m." if that also ends the sentence."""
    return f"{words}." if match[0].endswith(".") and not text_after(match).strip() else words


def _read_hour(match: re.Match[str], language: Language) -> str | None:
    hour = int(match["hour"])
    said = re.search(rf"(?:{_BEFORE_HOURS[language.code]})\s?$", text_before(match, 16))
    if hour > 24 or not (said or re.match(r"\s?[-–]\s?\d", text_after(match, 4))):
        return None
    hours = "heure" if language.code == "fr" and hour == 1 else language.hour
    return " ".join(filter(None, (_hour_words(hour, language), hours)))


def _read_german_one(match: re.Match[str], language: Language) -> str:
    return f"{_hour_words(1, language)} {language.hour}"


def _read_spanish_half_day(match: re.Match[str], language: Language) -> str | None:
    hour = int(match["hour"])
    words = f"{_hour_words(hour, language)} {_spanish_half(match['half'], hour)}"
    return _with_full_stop(words, match) if hour <= 12 else None


def _read_english_time(match: re.Match[str], language: Language) -> str | None:
    if _RATIO_BEFORE.search(text_before(match, 40)):
        return None
    hour, minute, half = int(match["hour"]), int(match["minute"]), _half_of_day(match, language)
    if hour > 24:
        return None
    named = re.match(r"[ ](?:noon|midnight)\b", text_after(match, 10)) is not None
    words = _english_clock(hour, minute, language, bool(half) or named)
    return _with_seconds(" ".join(filter(None, (words, half))), match.groupdict(), language)


def _english_clock(hour: int, minute: int, language: Language, half: bool = False) -> str | None:
    if not minute and hour in (0, 24):
        return "midnight"
    if minute:
        after = f"{'oh ' if minute < 10 else ''}{in_words(minute, language)}"
    else:
        after = "" if half else "o'clock" if 1 <= hour <= 12 else "hundred"
    return " ".join(filter(None, (in_words(hour, language), after)))


def _read_military(match: re.Match[str], language: Language) -> str:
    """Read "0830 hours"."""
    hour, minute = int(match["hour"]), int(match["minute"])
    minutes = "hundred" if not minute else f"{'oh ' if minute < 10 else ''}{in_words(minute, language)}"
    return f"{'oh ' if hour < 10 else ''}{in_words(hour, language)} {minutes}"


def _half_of_day(match: re.Match[str], language: Language) -> str:
    half: str | None = match["half"] or match.groupdict().get("half_letter")
    if not half:
        return ""
    ends = half.endswith(".") and ends_after_abbreviation(half, text_after(match, 40), language)
    return f"{half[0].upper()}M{'.' if ends else ''}"


def _read_english_hour(match: re.Match[str], language: Language) -> str | None:
    hour = int(match["hour"])
    return f"{in_words(hour, language)} {_half_of_day(match, language)}" if hour <= 12 else None


_TIME = r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?(?![\d:])"
_DOTTED = r"(?P<hour>\d{1,2})\.(?P<minute>[0-5]\d)"
_HALF = r"(?P<half>[ap]\.[ ]?m\.|[ap]m\b|A\.M\.|P\.M\.|AM\b|PM\b)"


_ENGLISH = (
    rule(rf"{_TIME}(?:[ \u202f]?{_HALF}|(?P<half_letter>[ap])\b)?", _read_english_time),
    rule(r"(1[0-2]|[1-9])([ap])[ ]?[-–][ ]?(1[0-2]|[1-9])([ap])\b", _read_short_hours),
    rule(r"(?P<hour>[01]\d|2[0-4])(?P<minute>[0-5]\d)(?=[ ](?:hours|hrs)\b)", _read_military),
    # "7.30pm" and "7.30 to 8pm", as the British write them
    rule(rf"{_DOTTED}[ \u202f]?{_HALF}", _read_english_time),
    rule(
        rf"{_DOTTED}(?P<half>)(?=\s?(?:to|until|[-–])\s?\d{{1,2}}(?:[.:][0-5]\d)?\s?[ap]\.?m\b)",
        _read_english_time,
    ),
    rule(rf"(?P<hour>\d{{1,2}})[ \u202f]?{_HALF}", _read_english_hour),
)


def time_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for times of day in a language."""
    if language.code == "en":
        return _ENGLISH
    mark = _MARKS.get(language.code)
    if mark is None:
        return (rule(_TIME, _read_time),)
    half = rf"(?:[ \u202f]?{_HALF})?" if language.code == "es" else ""
    marked = (
        rf"[ \u202f]?(?:{mark})(?!\w)(?:\.(?=,|[ ][a-z\d]))?"
        if language.code == "es"
        else rf"[ \u202f]?(?:{mark})(?!\w)"
    )
    until = rf"(?=\s?(?:bis|tot|[-–]|a)\s?\d{{1,2}}[.:][0-5]\d{marked})"
    return (
        rule(rf"{_TIME}(?:{marked})?{half}", _read_time),
        rule(rf"{_DOTTED}(?:{marked}|{until})", _read_time),
        rule(
            r"(?P<hour>\d{1,2})[ ]?h[ ]?(?P<minute>[0-5]\d)(?![\w:]|[ ]?[Mm]in)(?:[ ]?Uhr\b)?",
            _read_time,
            "fr",
            "es",
            "pt",
            "de",
        ),
        *(rule(rf"{_DOTTED}{_NO_SUM}", _read_dotted_time, code) for code in _BEFORE_HOURS),
        rule(r"(?<=a[ ]la[ ])1(?!\d|[:.,]\d)", lambda match, _: "una", "es"),
        rule(r"1(?=[ ]Uhr\b)[ ]Uhr", _read_german_one, "de"),
        rule(rf"(?P<hour>\d{{1,2}})[ \u202f]?{_HALF}", _read_spanish_half_day, "es"),
        rule(
            r"(?P<hour>\d{1,2})[ \u202f]?(?:h|hs|hrs)\b(?![ ]?\d)(?:\.(?=[ ][a-z]|,))?",
            _read_hour,
            "de",
            "es",
            "pt",
            "it",
        ),
        rule(r"(?P<hour>\d{1,2})[ \u202f]?h\b(?![ ]?\d)", _read_french_hours, "fr"),
    )


def _read_french_hours(match: re.Match[str], language: Language) -> str:
    hour = int(match["hour"])
    return f"{_hour_words(hour, language)} {'heure' if hour == 1 else 'heures'}"
