"""Times of day, dates, years and days of the week."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.rules import Rule, rule, text_before

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTH = "|".join([*_MONTHS, *(rf"{month[:3]}\b\.?" for month in _MONTHS if month != "May"), r"Sept\b\.?"])
_DAY = r"Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun"


def _read_time(match: re.Match[str], language: Language) -> str | None:
    hour, minute = int(match["hour"]), int(match["minute"])
    if hour > 24:
        return None
    minutes = in_words(minute, language) if minute else ""
    return " ".join(filter(None, (in_words(hour, language), language.hour, minutes)))


def _read_english_time(match: re.Match[str], language: Language) -> str | None:
    hour, minute, half = int(match["hour"]), int(match["minute"]), _half_of_day(match)
    if hour > 24:
        return None
    after = f"{'oh ' if minute < 10 else ''}{in_words(minute, language)}" if minute else ""
    if not minute and not half:
        after = "o'clock" if 1 <= hour <= 12 else "hundred"
    return " ".join(filter(None, (in_words(hour, language), after, half)))


def _half_of_day(match: re.Match[str]) -> str:
    half: str | None = match["half"]
    if not half:
        return ""
    ends_sentence = half.endswith(".") and not match.string[match.end() :].strip()
    return f"{half[0].upper()}M{'.' if ends_sentence else ''}"


def _read_hour(match: re.Match[str], language: Language) -> str | None:
    hour = int(match["hour"])
    return f"{in_words(hour, language)} {_half_of_day(match)}" if hour <= 12 else None


def _year_words(year: int, language: Language) -> str:
    return in_words(year, language, "year") or ""


def _read_year(match: re.Match[str], language: Language) -> str:
    return _year_words(int(match[0]), language)


def _read_decade(match: re.Match[str], language: Language) -> str:
    year = int(match["year"])
    words = _year_words(year, language) if year > 99 else in_words(year, language) or ""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def _date_words(month: int, day: int, year: str | None, language: Language) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    words = f"{_MONTHS[month - 1]} {in_words(day, language, 'ordinal')}"
    return f"{words}, {_year_words(int(year), language)}" if year else words


def _month_number(name: str) -> int:
    return next(number for number, month in enumerate(_MONTHS, 1) if month.startswith(name[:3]))


def _read_month_day(match: re.Match[str], language: Language) -> str | None:
    return _date_words(_month_number(match["month"]), int(match["day"]), match["year"], language)


def _read_day_month(match: re.Match[str], language: Language) -> str | None:
    if not 1 <= int(match["day"]) <= 31:
        return None
    the = "" if text_before(match).endswith("the ") else "the "
    month = _MONTHS[_month_number(match["month"]) - 1]
    return f"{the}{in_words(int(match['day']), language, 'ordinal')} of {month}"


def _read_slashed_date(match: re.Match[str], language: Language) -> str | None:
    first, second, year = int(match[1]), int(match[2]), match[3]
    year = f"20{year}" if len(year) == 2 else year
    month, day = (second, first) if first > 12 else (first, second)
    return _date_words(month, day, year, language)


def _read_iso_date(match: re.Match[str], language: Language) -> str | None:
    return _date_words(int(match[2]), int(match[3]), match[1], language)


def _day_name(short: str) -> str:
    return next(day for day in _DAYS if day.startswith(short[:3]))


def _read_days(match: re.Match[str], _: Language) -> str:
    until = f" to {_day_name(match['until'])}" if match["until"] else ""
    return f"{_day_name(match['day'])}{until}"


_TIME = r"(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?![\d:])"
_HALF = r"(?P<half>[ap]\.m\.|[ap]m\b|A\.M\.|P\.M\.|AM\b|PM\b)"
RULES: tuple[Rule, ...] = (
    rule(rf"{_TIME}(?:[ \u202f]?{_HALF})?", _read_english_time, "en"),
    rule(rf"{_TIME}(?:[ ](?:Uhr|uur)\b)?", _read_time),
    rule(rf"(?P<hour>\d{{1,2}})[ \u202f]?{_HALF}", _read_hour, "en"),
    rule(r"(\d{4})-(\d\d)-(\d\d)(?![\d-])", _read_iso_date, "en"),
    rule(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\d/])", _read_slashed_date, "en"),
    rule(
        rf"(?P<month>{_MONTH})[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:%]|[.,]\d|[ ]?[ap]\.?m) "
        r"(?:,?[ ](?P<year>(?:1[1-9]|20)\d\d)\b(?!-\d))?",
        _read_month_day,
        "en",
    ),
    rule(rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<month>{_MONTH})\b", _read_day_month, "en"),
    rule(r"(?P<year>(?:1[1-9]|20)\d0|[2-9]0)['’]?s\b", _read_decade, "en"),
    rule(r"(?:1[1-9]|20)\d\d(?![\w%]|[.,:/]\d)", _read_year, "en"),
    rule(
        rf"(?P<day>{_DAY})\b\.?(?:[ ]?[-–][ ]?(?P<until>{_DAY})\b\.?|(?=,?[ ](?:\d|{_MONTH})))",
        _read_days,
        "en",
    ),
)
