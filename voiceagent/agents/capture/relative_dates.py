"""Days that are named from today on: "a week on Tuesday", "the third of next month", "in ten days"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from voiceagent.text_normalization.languages import find_language
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.spoken_digits import number_at

_TOKEN = re.compile(r"#?\d+(?:[:/.-]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)?")
_MAX_DAYS = 36_500
"""Maximum days from today, a century."""


@dataclass(frozen=True, slots=True)
class RelativeWords:
    """Patterns of a language, of texts in lower case with figures; an ordinal is "#3".

    days: the weekdays, Monday first; DAY stands for them. ahead: "in 2 weeks". ago: "2 days ago". units:
    days of a unit; 0 for a month, -1 for a year. after: "a week on Tuesday". week_of: "Friday of next
    week". after_next: "the Friday after next". feasts: day and month of each. month_day: "the #3 of next
    month". next_month: the words there for the next month. month_end: "the last day of this month".
    nearest: "the #15", alone.
    """

    days: tuple[str, ...]
    ahead: str
    ago: str
    units: Mapping[str, int]
    after: tuple[str, ...]
    week_of: tuple[str, ...]
    after_next: str
    feasts: Mapping[str, tuple[int, int]]
    month_day: tuple[str, ...]
    next_month: tuple[str, ...]
    month_end: str
    nearest: str


_COUNT = r"(?P<count>\d+|an?|one|ein(?:e[mr]?)?|una?|a couple of)"
_ENGLISH_UNIT = r"(?P<unit>day|week|fortnight|month|year)s?"
_GERMAN_UNIT = r"(?P<unit>tag|woche|monat|jahr)(?:e?n)?"
_SPANISH_UNIT = r"(?P<unit>día|dia|semana|mes|año)(?:e?s)?"
_DAY_ORDINAL = r"#(?:[6-9]\b|\d\d|[1-5]\b(?= (?:{after})\b|$))"
"""A day of the month. Low ordinals count other things, too: "the first appointment", "on second thought"."""
_AFTER_ENGLISH_DAY = (
    "at|in|of|is|was|would|will|works|please|if|or|and|but|around|about|before|after|by|from|for|to|sounds|"
    "suits|then|thanks|thank|noon|midnight|half|quarter|a|that|i|maybe|perhaps|early|late|not"
)
_AFTER_GERMAN_DAY = (
    "um|ist|wäre|bitte|geht|passt|gegen|ab|nach|vor|in|oder|und|mittags|abends|morgens|vormittags|"
    "nachmittags|früh|wenn|danke"
)

_WORDS = {
    "en": RelativeWords(
        ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
        rf"(?:\bin {_COUNT} {_ENGLISH_UNIT}\b|\b{_COUNT.replace('count', 'count2')} "
        rf"{_ENGLISH_UNIT.replace('unit', 'unit2')} (?:from )?(?:today|now|(?P<tomorrow>tomorrow))\b"
        r"|\b(?:today|(?P<tomorrow2>tomorrow)) (?P<unit3>week)\b)",
        rf"\b{_COUNT} {_ENGLISH_UNIT} ago\b",
        {"day": 1, "week": 7, "fortnight": 14, "month": 0, "year": -1},
        (
            rf"\b{_COUNT} (?P<unit>week|fortnight)s? (?:on|from) (?:this |next |the )?(?P<day>DAY)\b",
            r"\b(?P<day>DAY) (?P<unit>week|fortnight)\b",
            rf"\b(?P<day>DAY) in {_COUNT} (?P<unit>week)s?\b",
        ),
        (
            r"\b(?P<later>week after next) (?:on )?(?P<day>DAY)\b",
            r"\b(?P<day>DAY) (?:of |in )?the (?P<later>week after next)\b",
            r"\bnext week (?:on )?(?P<day>DAY)\b",
            r"\b(?P<day>DAY) (?:of )?next week\b",
        ),
        r"\b(?P<day>DAY) after next\b",
        {
            "christmas eve": (24, 12), "boxing day": (26, 12), "christmas": (25, 12),
            "new year's eve": (31, 12), "new years eve": (31, 12), "new year's": (1, 1), "new years": (1, 1),
            "independence day": (4, 7), "valentine's": (14, 2), "valentines": (14, 2), "halloween": (31, 10),
        },
        (
            r"(?P<ordinal>#\d+) (?:day )?of (?:the )?(?P<next>next|this|the following) month\b",
            r"\b(?P<next>next|this) month,? (?:on )?(?:the )?(?P<ordinal>#\d+)",
        ),
        ("next", "the following"),
        r"\b(?:last day of|end of) (?:the|(?P<next>next)|this) month\b",
        rf"\b(?:the|on) (?P<ordinal>{_DAY_ORDINAL.format(after=_AFTER_ENGLISH_DAY)})",
    ),
    "de": RelativeWords(
        ("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
        rf"(?:\b(?P<tomorrow>morgen )?in {_COUNT} {_GERMAN_UNIT}\b|\bheute"
        rf" {_COUNT.replace('count', 'count2')}"
        rf" {_GERMAN_UNIT.replace('unit', 'unit2')}\b)",
        rf"\bvor {_COUNT} {_GERMAN_UNIT}\b",
        {"tag": 1, "woche": 7, "monat": 0, "jahr": -1},
        (rf"\b(?P<day>DAY) in {_COUNT} (?P<unit>woche)n?\b", r"\b(?P<unit>übernächste)[nr]? (?P<day>DAY)\b"),
        (r"\bnächste woche (?:am )?(?P<day>DAY)\b", r"\b(?P<day>DAY) nächste[r]? woche\b"),
        r"\b(?P<day>DAY) nach dem nächsten\b",
        {
            "heiligabend": (24, 12), "heiliger abend": (24, 12), "silvester": (31, 12), "neujahr": (1, 1),
            "nikolaus": (6, 12),
        },
        (r"(?P<ordinal>#\d+) (?:des )?(?P<next>nächsten|diesen|dieses|kommenden) monats?\b",),
        ("nächsten", "kommenden"),
        r"\b(?:ende|letzte[nr]? tag) (?:des|(?P<next>nächsten)|diesen|dieses) monats\b",
        rf"\b(?:am|der|den) (?P<ordinal>{_DAY_ORDINAL.format(after=_AFTER_GERMAN_DAY)})",
    ),
    "es": RelativeWords(
        ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
        rf"\b(?:en|dentro de) {_COUNT} {_SPANISH_UNIT}\b",
        rf"\bhace {_COUNT} {_SPANISH_UNIT}\b",
        {"día": 1, "dia": 1, "semana": 7, "mes": 0, "año": -1},
        (rf"\b(?P<day>DAY) (?:en|dentro de) {_COUNT} (?P<unit>semana)s?\b",),
        (r"\b(?P<day>DAY) de la (?:próxima semana|semana que viene)\b",),
        r"\b(?P<day>DAY) siguiente al próximo\b",
        {
            "nochebuena": (24, 12), "navidad": (25, 12), "nochevieja": (31, 12), "año nuevo": (1, 1),
            "reyes": (6, 1),
        },
        (r"\b(?P<ordinal>\d+) del? (?P<next>próximo mes|este mes|mes que viene)\b",),
        ("próximo mes", "mes que viene"),
        r"\b(?:último día|fin(?:al)?) (?:del|de este) mes\b",
        r"\bel (?:día )?(?P<ordinal>\d+)$",
    ),
}  # fmt: skip
_DAYS_AGO = {
    "the day before yesterday": 2, "vorgestern": 2, "anteayer": 2, "yesterday": 1, "gestern": 1, "ayer": 1,
}  # fmt: skip
_IN_EIGHT_DAYS = re.compile(r"\b(?:heute in 8 tagen|de hoy en 8)\b")


def relative_day(text: str, today: date, language: str) -> date | None:
    """Return the day that a text names by its distance from today, None if there is none."""
    words = _WORDS.get(language, _WORDS["en"])
    plain = with_figures(text, language)
    if _IN_EIGHT_DAYS.search(plain):  # a week, as people say it
        return today + timedelta(days=7)
    kinds: tuple[Callable[[str, date, RelativeWords], date | None], ...] = (
        _after_weekday, _in_week, _ahead, _feast, _in_next_month, _nearest,
    )  # fmt: skip
    return next((day for kind in kinds if (day := kind(plain, today, words)) is not None), None)


def past_day(text: str, today: date, language: str) -> date | None:
    """Return the day that a text names by its distance back from today, None if there is none."""
    words = _WORDS.get(language, _WORDS["en"])
    plain = with_figures(text, language)
    if found := re.search(words.ago, plain):
        return _moved(today, -_count(found["count"]), words.units[found["unit"]])
    return next((today - timedelta(days=days) for word, days in _DAYS_AGO.items() if word in plain), None)


def with_figures(text: str, language: str) -> str:
    """Return a text in lower case with figures for its numbers, and "#3" for "third" and "3rd"."""
    lower = re.sub(r"\b(\d{1,2})(?:st|nd|rd|th)\b", r"#\1", text.lower().replace("’", "'"))
    if language == "de":
        lower = re.sub(r"\b(\d{1,2})\.(?=\s+[^\W\d]|$)", r"#\1", lower)
    tokens, found, at = _TOKEN.findall(lower), [], 0
    while at < len(tokens):
        figures, used = _ordinal_at(tokens, at, language)
        if not figures:
            figures, used = number_at(tokens, at, language)
        found.append(figures or tokens[at])
        at += used
    return " ".join(found)


def _ordinal_at(tokens: list[str], at: int, language: str) -> tuple[str, int]:
    for used in (2, 1):
        words = " ".join(re.sub(r"(?<=te)[nrs]$", "", token) for token in tokens[at : at + used])
        if at + used <= len(tokens) and (day := ordinals(language).get(words)):
            return f"#{day}", used
    return "", 1


@cache
def ordinals(language: str) -> Mapping[str, int]:
    """Return the days of a month by their ordinals in words."""
    written = {day: in_words(day, find_language(language), "ordinal") for day in range(1, 32)}
    return {words.lower().replace("-", " "): day for day, words in written.items() if words}


def weekdays(language: str) -> tuple[str, ...]:
    """Return the names of the days of the week in lower case, Monday first."""
    return _WORDS.get(language, _WORDS["en"]).days


def next_weekday(index: int, today: date) -> date:
    """Return the next day of the week; today counts as a week later. index: 0 for Monday."""
    return today + timedelta(days=(index - today.weekday() - 1) % 7 + 1)


def _search(pattern: str, text: str, words: RelativeWords) -> re.Match[str] | None:
    return re.search(pattern.replace("DAY", "|".join(words.days)), text)


def _after_weekday(text: str, today: date, words: RelativeWords) -> date | None:
    """Return the day of "a week on Tuesday", "Tuesday week", "the Friday after next"."""
    if found := _search(words.after_next, text, words):
        return next_weekday(words.days.index(found["day"]), today) + timedelta(days=7)
    for pattern in words.after:
        if found := _search(pattern, text, words):
            groups = found.groupdict()
            days = words.units.get(groups["unit"], 7) * _count(groups.get("count") or "1")
            return next_weekday(words.days.index(groups["day"]), today) + timedelta(days=days)
    return None


def _in_week(text: str, today: date, words: RelativeWords) -> date | None:
    """Return the day of "next week Friday"."""
    found = next((one for pattern in words.week_of if (one := _search(pattern, text, words))), None)
    if found is None:
        return None
    weeks = 2 if found.groupdict().get("later") else 1
    return today + timedelta(days=7 * weeks - today.weekday() + words.days.index(found["day"]))


def _ahead(text: str, today: date, words: RelativeWords) -> date | None:
    """Return the day of "in two weeks", "a fortnight today", "a week tomorrow"."""
    found = re.search(words.ahead, text)
    if found is None:
        return None
    groups = {name.rstrip("23"): value for name, value in found.groupdict().items() if value}
    begin = today + timedelta(days=1) if "tomorrow" in groups else today
    return _moved(begin, _count(groups.get("count", "1")), words.units[groups["unit"]])


def _feast(text: str, today: date, words: RelativeWords) -> date | None:
    named = [feast for feast in words.feasts if re.search(rf"\b{feast}\b", text)]
    if not named:
        return None
    day, month = words.feasts[named[0]]
    this_year = date(today.year, month, day)
    return this_year if this_year >= today else date(today.year + 1, month, day)


def _in_next_month(text: str, today: date, words: RelativeWords) -> date | None:
    """Return the day of "the third of next month", "the last day of the month"."""
    if found := re.search(words.month_end, text):
        begin = _next_month(today) if found.groupdict().get("next") else today.replace(day=1)
        return _next_month(begin) - timedelta(days=1)
    found = next((one for pattern in words.month_day if (one := re.search(pattern, text))), None)
    if found is None:
        return None
    begin = _next_month(today) if found["next"] in words.next_month else today.replace(day=1)
    return _on(begin, int(found["ordinal"].lstrip("#")))


def _nearest(text: str, today: date, words: RelativeWords) -> date | None:
    """Return the day of "the 15th" alone: the next such day, on the weekday that is named with it."""
    found = re.search(words.nearest, text) or _search(r"\b(?:DAY) (?:the )?(?P<ordinal>#\d+)", text, words)
    if found is None or re.search(r"#\d+.*#\d+", text):
        return None
    weekday = next((at for at, name in enumerate(words.days) if name in text), None)
    begin = today.replace(day=1)
    for _ in range(24):
        day = _on(begin, int(found["ordinal"].lstrip("#")))
        if day is not None and day >= today and weekday in (None, day.weekday()):
            return day
        begin = _next_month(begin)
    return None


def _count(words: str) -> int:
    if words.isdecimal():
        return min(int(words), _MAX_DAYS)
    return 2 if words == "a couple of" else 1


def _moved(day: date, count: int, unit_days: int) -> date | None:
    """Return a day so many units later. A month later it is at most that month's last day."""
    if unit_days > 0:
        return day + timedelta(days=unit_days * count) if unit_days * abs(count) <= _MAX_DAYS else None
    months = day.year * 12 + day.month - 1 + (count if unit_days == 0 else 12 * count)
    if not 12 <= months < 12 * 9999:
        return None
    begin = date(months // 12, months % 12 + 1, 1)
    return _on(begin, day.day) or _next_month(begin) - timedelta(days=1)


def _next_month(day: date) -> date:
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


def _on(month: date, day: int) -> date | None:
    try:
        return month.replace(day=day)
    except ValueError:
        return None
