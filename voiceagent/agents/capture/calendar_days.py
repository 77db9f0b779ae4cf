"""Days of the calendar that a text names, "Friday" or "the third of May", and a day as text for a voice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

from voiceagent.agents.capture.named_days import named_day
from voiceagent.agents.capture.relative_dates import (
    next_weekday,
    ordinals,
    past_day,
    relative_day,
    weekdays,
)
from voiceagent.agents.capture.self_repairs import parse_meant
from voiceagent.agents.capture.task import Circumstances
from voiceagent.agents.capture.times_of_day import with_colons
from voiceagent.text_normalization.spoken_digits import number_at

_MONTHS = {
    "en": ("january", "february", "march", "april", "may", "june", "july", "august", "september",
           "october", "november", "december"),
    "de": ("januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september",
           "oktober", "november", "dezember"),
    "es": ("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
           "octubre", "noviembre", "diciembre"),
}  # fmt: skip
_RELATIVE = {
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "heute": 0,
    "morgen": 1,
    "übermorgen": 2,
    "hoy": 0,
    "mañana": 1,
}
_TOKEN = re.compile(r"\d{1,2}:\d\d|\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?|\d+|[^\W\d_]+")


def find_date(text: str, now: Circumstances, past: bool = False) -> date | None:
    """Return the day that a text names, corrected as the caller did, None if there is none. past: a birthday
    or the like.
    """
    return parse_meant(text, now.language, lambda part: _date_in(part, now, past))


def _date_in(text: str, now: Circumstances, past: bool) -> date | None:
    lower = with_colons(text.lower(), now.language)
    tokens = _TOKEN.findall(re.sub(r"(?<=\d)(?:st|nd|rd|th)\b", "", lower))
    today = now.now.date()
    month = _month(tokens, now.language)
    if not past and (day := _by_another(text, now)) is not None:
        return day
    if past and (before := past_day(text, today, now.language)):
        return before
    if month is None and not past and (day := relative_day(text, today, now.language)):
        return day
    for at, token in enumerate(tokens):
        if token in _RELATIVE and not past and not _is_morning(tokens, at):
            after = token in ("tomorrow", "morgen") and tokens[max(0, at - 2) : at] == ["day", "after"]
            extra = int(after or tokens[max(0, at - 1) : at] == ["pasado"])
            return today + timedelta(days=_RELATIVE[token] + extra)
        if re.fullmatch(r"\d{4}-\d\d-\d\d", token) or "/" in token or "." in token:
            found = _written(token, now, past)
            if found is not None:
                return found
    if month is not None:
        return _in_month(tokens, *month, None if past else today, now.language)
    return None if past else _weekday(tokens, today, now.language)


def _by_another(text: str, now: Circumstances) -> date | None:
    """Return the day of "two days before Christmas", "the first Monday in March"."""
    months = _MONTHS.get(now.language, _MONTHS["en"])
    return named_day(text, now.now.date(), now.language, months, lambda other: find_date(other, now))


def _is_morning(tokens: Sequence[str], at: int) -> bool:
    """Return True if "mañana" is "de la mañana": the morning, not tomorrow."""
    return tokens[at] == "mañana" and tokens[max(0, at - 1) : at] == ["la"]


def _written(token: str, now: Circumstances, past: bool) -> date | None:
    """Return the day of "3/14/2027", of "14.3." in other languages than English. past: it has a year."""
    parts = [int(part) for part in re.split(r"[-/.]", token) if part]
    if len(str(parts[0])) == 4:
        year, month, day = parts
    else:
        first, second = parts[:2]
        month, day = (first, second) if now.language == "en" else (second, first)
        if month > len(_MONTHS["en"]):
            month, day = day, month
        year = parts[2] if len(parts) > 2 else 0
    if not year:
        return None if past else _next(month, day, now.now.date())
    century = 1900 if past and year > now.now.year % 100 else 2000
    return _day(year + century if year < 100 else year, month, day)


def _month(tokens: Sequence[str], language: str) -> tuple[int, int] | None:
    """Return the index of the token that names a month, and the month's number. "May" alone is a verb."""
    names = _MONTHS.get(language, _MONTHS["en"])
    for at, token in enumerate(tokens):
        matching = [
            number
            for number, name in enumerate(names, 1)
            if token == name or (len(token) > 2 and token == name[:3])
        ]
        if matching and len(tokens) > 1:
            return at, matching[0]
    return None


def _in_month(tokens: Sequence[str], at: int, month: int, today: date | None, language: str) -> date | None:
    """Return the day of a month that is named at an index, with its year after it if it has one. today: None
    for a day in the past, which has a year, also one of two digits.
    """
    before = _day_number(tokens[:at], language)
    after, used = _ordinal_at(tokens, at + 1, language)
    day = before or after
    if not day:
        return None
    begin = at + 1 + (0 if before else used)
    year = _year(tokens, begin, language)
    if year or today is not None:
        return _day(year, month, day) if year else _next(month, day, today or date.min)
    figures = number_at(tokens, begin, language)[0] if begin < len(tokens) else ""
    return _day(1900 + int(figures), month, day) if len(figures) == 2 and figures >= "30" else None


def _day_number(tokens: Sequence[str], language: str) -> int:
    """Return the day at the end of the tokens before a month, 0 without one: "the twenty first of"."""
    at = 0
    while at < len(tokens):
        number, used = _ordinal_at(tokens, at, language)
        if number and at + used >= len(tokens) - 1:
            return number
        at += max(used, number_at(tokens, at, language)[1])  # past all of "eighty five"
    return 0


def _ordinal_at(tokens: Sequence[str], at: int, language: str) -> tuple[int, int]:
    """Return the number or ordinal at an index, and its tokens; "the" before it is skipped."""
    skipped = int(tokens[at : at + 1] == ["the"])
    at += skipped
    if at >= len(tokens):
        return 0, 0
    by_words = ordinals(language)
    for used in (2, 1):
        words = [re.sub(r"(?<=te)[nrs]$", "", token) for token in tokens[at : at + used]]
        if len(words) == used and (day := by_words.get(" ".join(words))):
            return day, used + skipped
    figures, used = number_at(tokens, at, language)
    value = int(figures) if figures and len(figures) < 3 else 0
    return (value, used + skipped) if 1 <= value <= 31 else (0, 0)


def _year(tokens: Sequence[str], at: int, language: str) -> int:
    """Return the year after a date, 0 without one: "1987", "nineteen eighty seven"."""
    for begin in range(at, min(at + 2, len(tokens))):
        if re.fullmatch(r"(?:19|20)\d\d", tokens[begin]):
            return int(tokens[begin])
        century, used = number_at(tokens, begin, language)
        rest = number_at(tokens, begin + used, language)[0] if begin + used < len(tokens) else ""
        if century in ("19", "20") and rest:
            return int(century) * 100 + int(rest)
        if tokens[begin : begin + 2] == ["two", "thousand"]:
            after = begin + 2 + int(tokens[begin + 2 : begin + 3] == ["and"])
            return 2000 + int((number_at(tokens, after, language)[0] if after < len(tokens) else "") or 0)
    return 0


def _weekday(tokens: Sequence[str], today: date, language: str) -> date | None:
    """Return the next day of the week that is named; today counts as a week later."""
    names = weekdays(language)
    for at, token in enumerate(tokens):
        if token in names and not _is_last(tokens, at):
            return next_weekday(names.index(token), today)
    return None


def _is_last(tokens: Sequence[str], at: int) -> bool:
    """Return True if a weekday is in the past: "last Friday", "el viernes pasado"."""
    return tokens[max(0, at - 1)] in ("last", "letzten", "letzter") or tokens[at + 1 : at + 2] == ["pasado"]


def _next(month: int, day: int, today: date) -> date | None:
    """Return the next such day from today on, None if there is no such day."""
    years = range(today.year, today.year + 9)
    return next((found for year in years if (found := _day(year, month, day)) and found >= today), None)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except (ValueError, OverflowError):
        return None


def spoken_date(day: date, now: Circumstances) -> str:
    """Return a day with its weekday, for a voice; with the year unless it is within eleven months."""
    weekday = weekdays(now.language)[day.weekday()]
    month = _MONTHS.get(now.language, _MONTHS["en"])[day.month - 1]
    year = "" if timedelta(0) <= day - now.now.date() < timedelta(days=330) else f" {day.year}"
    if now.language == "de":
        return f"{weekday.capitalize()}, {day.day}. {month.capitalize()}{year}"
    if now.language == "es":
        return f"{weekday} {day.day} de {month}{' de' + year if year else ''}"
    return f"{weekday.capitalize()}, {month.capitalize()} {day.day}{',' + year if year else ''}"
