"""Dates, years and decades."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language, word_set
from voiceagent.text_normalization.numbers import in_words, number_words
from voiceagent.text_normalization.ordinals import german_ordinal
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before
from voiceagent.text_normalization.times import clock_words
from voiceagent.text_normalization.weekdays import day_rules, month_pattern

_FORMS = {
    "es": ("{day} de {month}", " de {year}"),
    "pt": ("{day} de {month}", " de {year}"),
    "fr": ("{day} {month}", " {year}"),
    "it": ("{day} {month}", " {year}"),
    "nl": ("{day} {month}", " {year}"),
    "de": ("{day} {month}", " {year}"),
    "en": ("{month} {day}", ", {year}"),
}
"""Spoken forms of numeric dates: day and month, and the year after them."""
_DATE_BEFORE = re.compile(r"\d/\d{1,2}(?:/\d{2,4})?\s?(?:and|or|to|und|oder|bis|y|o|al|[-–&,])\s?$")
_DATE_AFTER = re.compile(r"\s?(?:and|to|und|bis|y|al|[-–&])\s?\d{1,2}/\d")
_BEFORE_TIMES = {"en": "at", "de": "um", "es": "a las", "fr": "à", "it": "alle", "nl": "om", "pt": "às"}
_FIRST = {"fr": "premier", "it": "primo"}
"""The first of a month, in languages whose other days are cardinals."""
_BEFORE_YEARS = word_set(
    "in since of from until till by year before after early late mid summer winter spring fall autumn "
    "around circa the our this for back and to during between january february march april may june "
    "july august september october november december q1 q2 q3 q4"
)
_PARTS_OF_TIME = {
    "1/2": "half",
    "1/3": "one-third",
    "2/3": "two-thirds",
    "1/4": "quarter",
    "3/4": "three-quarter",
}
_PART_AFTER = re.compile(
    r"(?:[ ]?(?:to|and|or|-|–)[ ]?\d{1,2}/\d{1,2})?[ ](?:"
    r"of[ ](?:the|his|her|its|our|their|your|my|an?|all|each|those|these)\b(?![ ](?:year|month))"
    r"|(?:way|turn|full|majority|cups?|inch(?:es)?|miles?|teaspoons?|tablespoons?|pounds?|liters?)\b)"
)
"""Text after "3/4" that makes it a part of something, not a date: "of the way", "to 1/2 cup"."""
_WORK_AFTER = re.compile(
    r"[ ]time[ ](?:jobs?|posts?|positions?|roles?|contracts?|work|staff|employees?|hours|basis)\b"
)


def year_words(year: int, language: Language) -> str:
    """Return a year in words."""
    return in_words(year, language, "year") or in_words(year, language) or ""


def _date_words(day: int, month: int, year: str | None, language: Language, before: str = "") -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    date, with_year = _FORMS[language.code]
    month_name = language.months[month - 1]
    if language.code == "en":
        day_words = in_words(day, language, "ordinal")
    elif language.code == "de":
        day_words = german_ordinal(day, before, month_name, language)
    else:
        day_words = _FIRST.get(language.code) if day == 1 else None
        day_words = day_words or in_words(day, language)
    words = date.format(day=day_words, month=month_name)
    if not year:
        return words
    number = int(year) + (2000 if len(year) == 2 else 0)
    return words + with_year.format(year=year_words(number, language))


def _read_numeric_date(match: re.Match[str], language: Language) -> str | None:
    first, second, year = int(match["first"]), int(match["second"]), match["year"]
    if not year and not _says_date(match, language):
        return None
    month_first = language.code == "en" and first <= 12 and match.groupdict().get("sep") != "."
    day, month = (second, first) if month_first else (first, second)
    return _date_words(day, month, year, language, text_before(match))


def _says_date(match: re.Match[str], language: Language) -> bool:
    """Return True if the text around "3/5" shows a date, not a fraction."""
    if int(match["first"]) < int(match["second"]) and _PART_AFTER.match(text_after(match, 24)):
        return False
    word = word_before(match)
    if text_after(match, 4) == " of ":  # "closes 3/4 of all deals"
        return False
    if re.match(r"0\d/(?:0[1-9]|[12]\d|3[01])(?!\d)", match[0]):
        return True  # no fraction begins with a nought
    days = (*language.days, *language.short_days)
    if word in language.before_dates or word.capitalize() in days or word in days:
        return True
    return bool(_DATE_BEFORE.search(text_before(match, 16)) or _DATE_AFTER.match(text_after(match, 16)))


def _read_expiry(match: re.Match[str], language: Language) -> str | None:
    """Read the expiry month and year of a card: "expires 08/27"."""
    if not re.search(r"(?:\bexp\w*|valid|until|through|thru)\W+$", text_before(match, 16), re.IGNORECASE):
        return None
    month = int(match[1])
    return f"{'oh ' if month < 10 else ''}{in_words(month, language)} {in_words(int(match[2]), language)}"


def _read_dotted_date(match: re.Match[str], language: Language) -> str | None:
    year = match[3] or match[4]
    words = _date_words(int(match[1]), int(match[2]), year, language, text_before(match, 40))
    ends = not year and dotted_date_ends_sentence(text_after(match, 30))
    return f"{words}." if words and ends else words


def dotted_date_ends_sentence(after: str) -> bool:
    """Return True if the full stop of "24.12." also ends the sentence: verbs follow a date, but no nouns."""
    following = re.match(r"\s*([^\W\d_]*)", after)
    word = following[1] if following else ""
    if not word:
        return not after.strip()
    return word[0].isupper()


def _read_iso_date(match: re.Match[str], language: Language) -> str | None:
    day, month = int(match["day"]), int(match["month"])
    date = _date_words(day, month, match["year"], language, text_before(match, 40))
    if not date or not match["hour"]:
        return date
    time = clock_words(int(match["hour"]), int(match["minute"]), language)
    return f"{date} {_BEFORE_TIMES[language.code]} {time}" if time else None


def _read_month_and_year(match: re.Match[str], language: Language) -> str:
    """Read "08/2027"."""
    of = " de" if language.code in ("es", "pt") else ""
    return f"{language.months[int(match[1]) - 1]}{of} {year_words(int(match[2]), language)}"


def _read_season(match: re.Match[str], language: Language) -> str | None:
    """Read two years that follow each other: "2025/26"."""
    first, second = int(match[1]), int(match[2])
    if second % 100 != (first + 1) % 100:
        return None
    last = in_words(second, language) if second < 100 else year_words(second, language)
    return f"{year_words(first, language)} {language.signs['–']} {last}"


def _read_ancient_year(match: re.Match[str], language: Language) -> str:
    return year_words(int(match[0]), language)


def _month_number(name: str, language: Language) -> int:
    return next(number for number, month in enumerate(language.months, 1) if month.startswith(name[:3]))


def _read_month_day(match: re.Match[str], language: Language) -> str | None:
    month, year = _month_number(match["month"], language), match["year"]
    if not match["until"]:
        return _date_words(int(match["day"]), month, year, language)
    first = _date_words(int(match["day"]), month, None, language)
    last = in_words(int(match["until"]), language, "ordinal")
    joined = "and" if match["joined"] == "and" else "to"
    words = f"{first} {joined} {last}" if first and int(match["until"]) <= 31 else None
    return f"{words}, {year_words(int(year), language)}" if words and year else words


def _read_day_month(match: re.Match[str], language: Language) -> str | None:
    if not 1 <= int(match["day"]) <= 31:
        return None
    said = match["the"] or ("" if text_before(match, 8).lower().endswith("the ") else "the ")
    month = language.months[_month_number(match["month"], language) - 1]
    first = in_words(int(match["day"]), language, "ordinal")
    if until := match["until"]:
        joined = "and" if match["joined"] == "and" else "to"
        first = f"{first} {joined} the {in_words(int(until), language, 'ordinal')}"
    return f"{said}{first} of {month}"


def _read_time_signature(match: re.Match[str], language: Language) -> str | None:
    """Read the beats of music, which look like a date, "in 3/4 time", and a part of full time."""
    dated = word_before(match) in ("on", "at", "by", "until", "from", "for", "your", "our")
    works = _WORK_AFTER.match(text_after(match, 20)) or word_before(match) in ("works", "working", "work")
    if works and match[0] in _PARTS_OF_TIME:
        return _PARTS_OF_TIME[match[0]]
    return None if dated else f"{number_words(match[1], language)} {number_words(match[2], language)}"


def _read_short_month(match: re.Match[str], language: Language) -> str:
    return language.months[_month_number(match[0], language) - 1]


def _read_named_date(match: re.Match[str], language: Language) -> str | None:
    """Read "03-May-2026"."""
    return _date_words(int(match["day"]), _month_number(match["month"], language), match["year"], language)


def _read_year(match: re.Match[str], language: Language) -> str | None:
    counts = re.match(r"[ ](?:[a-z]+s\b|people|children|sq)", text_after(match, 24))
    if counts and word_before(match) not in _BEFORE_YEARS:
        return None
    unit = re.match(r"[ ]([^\W\d_]+)", text_after(match, 12))
    if unit and unit[1] in language.units:
        return None
    return year_words(int(match[0]), language)


def _read_german_year(match: re.Match[str], language: Language) -> str | None:
    return None if re.match(r"[ ][A-ZÄÖÜ]", text_after(match, 2)) else year_words(int(match[0]), language)


_BEFORE_DECADE = re.compile(
    r"(?:\b(?:the|in|his|her|their|my|our|your|early|mid|late|low|high|upper|lower)[ ]"
    r"(?:\d0s[ ](?:and|or|to)[ ])?|-|['’$])$",
    re.IGNORECASE,
)


def _read_decade(match: re.Match[str], language: Language) -> str | None:
    if re.search(r"\d\s?m(?:in)?\s$", text_before(match, 8)):  # seconds
        return None
    year = int(match["year"])
    if year < 100 and not (match["mark"] or _BEFORE_DECADE.search(text_before(match, 18))):
        return None
    if year == 0:
        return "two thousands"
    words = year_words(year, language) if year > 99 else in_words(year, language) or ""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def date_name_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for dates and weekdays that begin with a name."""
    if not language.months:
        return ()
    month = month_pattern(language)
    return (
        rule(
            rf"(?P<month>{month})[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
            rf"(?:{_JOINED}(?P<until>\d{{1,2}})(?:st|nd|rd|th)?(?![ ](?:[a-z]+s|people)\b))?"
            r"(?![\d:%]|[.,]\d|[ ]?[ap]\.?m)"
            r"(?:,?[ ](?P<year>(?:1[1-9]|20)\d\d)\b(?!-\d))?",
            _read_month_day,
            "en",
        ),
        rule(rf"(?P<the>[Tt]he[ ]){_DAY_OF_MONTH}(?P<month>{month})\b(?!['’])", _read_day_month, "en"),
        rule(r"(?:Feb|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b(?![.'’])", _read_short_month, "en"),
        *(day_rules(language) if language.days else ()),
    )


_JOINED = r"(?:[ ]?[-–][ ]?|[ ](?P<joined>to|through|until|and)[ ](?:the[ ])?)"
_DAY_OF_MONTH = (
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
    rf"(?:{_JOINED}(?P<until>\d{{1,2}})(?:st|nd|rd|th)?)?[ ](?:of[ ])?"
)


def date_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for dates and years that begin with a figure."""
    if not language.months:
        return ()
    month, year = month_pattern(language), r"(?P<year>\d{4}|\d\d)"
    return (
        rule(
            r"(?P<year>\d{4})(?P<sep>[-/])(?P<month>\d\d)(?P=sep)(?P<day>\d\d)(?![\d/-])"
            r"(?:T(?P<hour>\d\d):(?P<minute>[0-5]\d)(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?(?!\w))?",
            _read_iso_date,
        ),
        rule(rf"(?P<day>\d{{1,2}})-(?P<month>{month})-(?P<year>\d{{4}})(?![\d-])", _read_named_date),
        rule(r"(0?[1-9]|1[0-2])/((?:19|20)\d\d)(?![\d/])", _read_month_and_year),
        rule(r"((?:19|20)\d\d)/((?:19|20)?\d\d)(?![\d/])", _read_season),
        rule(r"\d{3,4}(?=[ ](?:BC|AD|BCE|CE)\b)", _read_ancient_year, "en"),
        rule(r"(0[1-9]|1[0-2])/([2-4]\d)(?![\d/])", _read_expiry, "en"),
        rule(r"(\d)/(\d{1,2})(?=[ ](?:time|beat|metre|meter|bars?)\b)", _read_time_signature, "en"),
        rule(
            rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/{year})?(?![\d/]|\"[ ][a-z])", _read_numeric_date
        ),
        rule(r"9/11(?![\d/])", lambda match, _: "nine eleven", "en"),
        rule(
            r"(?P<first>\d{1,2})(?P<sep>[.-])(?P<second>\d{1,2})(?P=sep)(?P<year>\d{4})(?![\d.-]\d)",
            _read_numeric_date,
            *("en", "es", "fr", "it", "nl", "pt"),
        ),
        rule(
            r"(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4})(?![\w%]|[.,]\d)|(\d\d)(?!\d))?(?!\d)",
            _read_dotted_date,
            "de",
        ),
        rule(rf"(?P<the>(?!))?{_DAY_OF_MONTH}(?P<month>{month})\b(?!['’])", _read_day_month, "en"),
        rule(r"(?P<year>(?:1[1-9]|20)\d0|[02-9]0)(?P<mark>['’])?s\b", _read_decade, "en"),
        rule(r"(?:1[1-9]|20)\d\d(?![\w%]|[.,:/]\d|[ ]?[€$£])", _read_year, "en"),
        rule(r"1[4-9]\d\d(?![\w%]|[.,:/]\d|[ ]?[€$£])", _read_german_year, "de"),
    )
