"""Days that are named by others: "the first Monday in March", "two days before Christmas", "Thanksgiving"."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from voiceagent.agents.capture.relative_dates import weekdays, with_figures

_NTH = {
    "en": r"(?P<nth>#[1-5]|\blast) (?P<day>DAY) (?:in|of) (?P<month>MONTH|(?:this|the|next) month)\b",
    "de": r"(?P<nth>#[1-5]|\bletzte[nrm]?) (?P<day>DAY) (?:im|des) "
    r"(?P<month>MONTH|(?:nächsten|diesen|dieses) monats)\b",
    "es": r"\b(?P<nth>primer|segundo|tercer|cuarto|último) (?P<day>DAY) del? "
    r"(?P<month>MONTH|(?:próximo |este )?mes)\b",
}
_ORDINALS = {"primer": 1, "segundo": 2, "tercer": 3, "cuarto": 4}
_NEXT_MONTH = ("next month", "nächsten monats", "próximo mes")
_HOLIDAYS = {
    "thanksgiving": (4, 3, 11),
    "labor day": (1, 0, 9),
    "memorial day": (0, 0, 5),
    "martin luther king": (3, 0, 1),
    "presidents' day": (3, 0, 2),
    "presidents day": (3, 0, 2),
    "columbus day": (2, 0, 10),
    "mother's day": (2, 6, 5),
    "mothers day": (2, 6, 5),
    "father's day": (3, 6, 6),
    "fathers day": (3, 6, 6),
}
"""Number, weekday and month of the movable holidays of the United States (5 U.S.C. 6103, and two by custom);
number 0 is the last.
"""
_COUNT = r"(?:(?P<count>\d+|an?|one|a couple of|the) (?P<unit>day|week)s?|(?:the )?(?P<day>DAY))"
_BESIDE = {
    "en": rf"\b{_COUNT} (?P<side>before|after) (?P<other>.+)$",
    "de": r"\b(?:(?P<count>\d+|einen?|der|am) (?P<unit>tag|woche)e?n?|(?P<day>DAY)) "
    r"(?P<side>vor|nach) (?P<other>.+)$",
    "es": r"\b(?:(?P<count>\d+|una?|el) (?P<unit>día|semana)s?|(?P<day>DAY)) "
    r"(?P<side>antes|después) del? (?P<other>.+)$",
}
"""A day by its distance from another one; "week" only with a number, as "the week before" is no day."""
_BEFORE = ("before", "vor", "antes")
_FIND = Callable[[str], date | None]


def named_day(text: str, today: date, language: str, months: tuple[str, ...], find: _FIND) -> date | None:
    """Return the day that a text names by another day or by its place in a month, None if there is none.

    months: the names of the months, in lower case. find: parser of the other day.
    """
    if language not in _NTH:
        return None
    plain = with_figures(text, language)
    beside = re.search(_BESIDE[language].replace("DAY", "|".join(weekdays(language))), plain)
    if beside is not None and (other := find(beside["other"])) is not None:
        return _day_beside(beside, other, language)
    if language == "en" and (holiday := next((name for name in _HOLIDAYS if name in plain), None)):
        return _next_in_month(*_HOLIDAYS[holiday], today)
    pattern = _NTH[language].replace("DAY", "|".join(weekdays(language))).replace("MONTH", "|".join(months))
    found = re.search(pattern, plain)
    return None if found is None else _nth_weekday(found, today, language, months)


def _day_beside(found: re.Match[str], other: date, language: str) -> date | None:
    """Return the day so far before or after another, or the weekday that is next to it."""
    sign = -1 if found["side"] in _BEFORE else 1
    if found["day"]:
        away = sign * (weekdays(language).index(found["day"]) - other.weekday())
        return other + timedelta(days=sign * ((away - 1) % 7 + 1))
    is_week = found["unit"] in ("week", "woche", "semana")
    if is_week and found["count"] in ("the", "der", "am", "el"):
        return None
    count = int(found["count"]) if found["count"].isdecimal() else 2 if "couple" in found["count"] else 1
    return other + timedelta(days=sign * count * (7 if is_week else 1)) if count < 1000 else None


def _nth_weekday(found: re.Match[str], today: date, language: str, months: tuple[str, ...]) -> date | None:
    nth = _ORDINALS.get(found["nth"]) or (int(found["nth"][1:]) if found["nth"][0] == "#" else 0)
    weekday = weekdays(language).index(found["day"])
    if found["month"] in months:
        return _next_in_month(nth, weekday, months.index(found["month"]) + 1, today)
    begin = today.replace(day=1)
    following = (begin + timedelta(days=32)).replace(day=1)
    if found["month"] in _NEXT_MONTH:
        return _in_month(nth, weekday, following)
    day = _in_month(nth, weekday, begin)
    return day if day is None or day >= today else _in_month(nth, weekday, following)


def _next_in_month(nth: int, weekday: int, month: int, today: date) -> date | None:
    """Return the next such day from today on."""
    days = (_in_month(nth, weekday, date(today.year + years, month, 1)) for years in (0, 1))
    return next((day for day in days if day is not None and day >= today), None)


def _in_month(nth: int, weekday: int, begin: date) -> date | None:
    """Return the n-th such weekday of the month that begins with this day, the last for 0."""
    first = begin + timedelta(days=(weekday - begin.weekday()) % 7)
    days = [day for week in range(5) if (day := first + timedelta(days=7 * week)).month == begin.month]
    return days[nth - 1] if nth <= len(days) else None
