"""Dates, years, decades and days of the week."""

from __future__ import annotations

import re
from collections import defaultdict

from voiceagent.text_normalization.languages import Language, word_set
from voiceagent.text_normalization.numbers import in_words
from voiceagent.text_normalization.ordinals import german_ordinal
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before

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
_FIRST = {"fr": "premier", "it": "primo"}
"""The first of a month, in languages whose other days are cardinals."""
_BEFORE_YEARS = word_set(
    "in since of from until till by year before after early late mid summer winter spring fall autumn "
    "around circa the our this for back and to during between january february march april may june "
    "july august september october november december q1 q2 q3 q4"
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
    month_first = language.code == "en" and first <= 12
    day, month = (second, first) if month_first else (first, second)
    return _date_words(day, month, year, language, text_before(match))


def _says_date(match: re.Match[str], language: Language) -> bool:
    """Return True if the text around "3/5" shows a date, not a fraction."""
    word = word_before(match)
    if word in language.before_dates or word.capitalize() in language.days or word in language.days:
        return True
    return bool(_DATE_BEFORE.search(text_before(match, 16)) or _DATE_AFTER.match(text_after(match, 16)))


def _read_expiry(match: re.Match[str], language: Language) -> str | None:
    """Read the expiry month and year of a card: "expires 08/27"."""
    if not re.search(r"(?:\bexp\w*|valid|until|through|thru)\W+$", text_before(match, 16), re.IGNORECASE):
        return None
    month = int(match[1])
    return f"{'oh ' if month < 10 else ''}{in_words(month, language)} {in_words(int(match[2]), language)}"


def _read_dotted_date(match: re.Match[str], language: Language) -> str | None:
    words = _date_words(int(match[1]), int(match[2]), match[3], language, text_before(match, 40))
    ends = not match[3] and dotted_date_ends_sentence(text_after(match, 30))
    return f"{words}." if words and ends else words


def dotted_date_ends_sentence(after: str) -> bool:
    """Return True if the full stop of "24.12." also ends the sentence: verbs follow a date, but no nouns."""
    following = re.match(r"\s*([^\W\d_]*)", after)
    word = following[1] if following else ""
    if not word:
        return not after.strip()
    return word[0].isupper()


def _read_iso_date(match: re.Match[str], language: Language) -> str | None:
    return _date_words(int(match[3]), int(match[2]), match[1], language, text_before(match, 40))


def _month_number(name: str, language: Language) -> int:
    return next(number for number, month in enumerate(language.months, 1) if month.startswith(name[:3]))


def _read_month_day(match: re.Match[str], language: Language) -> str | None:
    month, year = _month_number(match["month"], language), match["year"]
    if not match["until"]:
        return _date_words(int(match["day"]), month, year, language)
    first = _date_words(int(match["day"]), month, None, language)
    last = in_words(int(match["until"]), language, "ordinal")
    words = f"{first} to {last}" if first and int(match["until"]) <= 31 else None
    return f"{words}, {year_words(int(year), language)}" if words and year else words


def _read_day_month(match: re.Match[str], language: Language) -> str | None:
    if not 1 <= int(match["day"]) <= 31:
        return None
    said = match["the"] or ("" if text_before(match, 8).lower().endswith("the ") else "the ")
    month = language.months[_month_number(match["month"], language) - 1]
    return f"{said}{in_words(int(match['day']), language, 'ordinal')} of {month}"


def _read_year(match: re.Match[str], language: Language) -> str | None:
    counts = re.match(r"[ ](?:[a-z]+s\b|people|children|sq)", text_after(match, 24))
    if counts and word_before(match) not in _BEFORE_YEARS:
        return None
    return year_words(int(match[0]), language)


def _read_german_year(match: re.Match[str], language: Language) -> str | None:
    return None if re.match(r"[ ][A-ZÄÖÜ]", text_after(match, 2)) else year_words(int(match[0]), language)


def _read_decade(match: re.Match[str], language: Language) -> str | None:
    if re.search(r"\d\s?m(?:in)?\s$", text_before(match, 8)):  # seconds
        return None
    year = int(match["year"])
    words = year_words(year, language) if year > 99 else in_words(year, language) or ""
    return f"{words[:-1]}ies" if words.endswith("y") else f"{words}s"


def _read_days(match: re.Match[str], language: Language) -> str | None:
    names = language.short_days
    day = names[match["day"]]
    until = match["until_day"]
    if not until:
        return None if day == "Freitag" and _is_title(match) else day
    return f"{day} {language.until[0]} {names[until]}"


def _is_title(match: re.Match[str]) -> bool:
    """Return True if "Fr." stands for "Frau"."""
    return re.match(r"[ ](?!Uhr|und|bis)[A-ZÄÖÜ][a-zäöüß]", text_after(match, 6)) is not None


def _read_initials(match: re.Match[str], language: Language) -> str:
    first, last = (language.days[language.day_initials.index(match[name])] for name in ("day", "until_day"))
    return f"{first} {language.until[0]} {last}"


_BEFORE_DAYS = defaultdict(
    lambda: "(?!)",
    en="(?:"
    + "|".join(rf"(?<={word}[ ])" for word in ("on", "closed", "next", "every", "by", "until"))
    + ")",
    de="(?<=am[ ])",
)
"""Text before a weekday's abbreviation that has no full stop."""


def _day_rules(language: Language) -> tuple[Rule, ...]:
    names = language.short_days
    day = "|".join(sorted(names, key=len, reverse=True))
    words = language.until[1]
    next_day = rf"(?:{day}|{'|'.join(language.days)})\b"
    month = "|".join(language.months)
    number = r"\d" if language.code == "en" else r"\d{1,2}(?:[:.]\d\d)?[ ]?(?:[-–]|Uhr|h\b|bis|a\b)"
    joined = r"(?:und|oder|and|or|y|o|et|ou|e|en|of|&)"
    rules = [
        rule(
            rf"(?P<day>{day})\b\.?[ ]?(?:[-–—/]|(?:{words})\b)[ ]?(?P<until_day>{day})\b"
            r"(?:\.(?!\s+[A-Z]|\s*$))?",
            _read_days,
        ),
        rule(
            rf"(?P<day>{day})\b(?P<until_day>(?!))?(?:"
            rf"\.(?=,|[ ](?:[a-z&/-]|\d|{month}))|\.?(?=,?[ ](?:{month})|,?[ ]{number})"
            rf"|\.?(?=,?[ ]{joined}[ ]{next_day}|,[ ]{next_day}))",
            _read_days,
        ),
        rule(
            rf"{_BEFORE_DAYS[language.code]}(?P<day>{day})\b(?P<until_day>(?!))?"
            r"(?!\.[ ][A-Z])(?![ ][A-Z][a-z])",
            _read_days,
            "de",
            "en",
        ),
        rule(
            rf"(?<=und[ ])(?P<day>{day})\b(?P<until_day>(?!))?(?:\.(?=[ ]|$)|(?=[ ](?:von|ab|bis|um|\d)))",
            _read_days,
            "de",
        ),
    ]
    if letters := language.day_initials.replace(" ", ""):
        rules.append(
            rule(rf"(?P<day>[{letters}])(?:-|–|[ ]a[ ])(?P<until_day>[{letters}])\b", _read_initials)
        )
    return tuple(rules)


def date_name_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for dates and weekdays that begin with a name."""
    if not language.months:
        return ()
    month = _month_pattern(language)
    return (
        rule(
            rf"(?P<month>{month})[ ](?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
            r"(?:[ ]?[-–][ ]?(?P<until>\d{1,2})(?:st|nd|rd|th)?)?(?![\d:%]|[.,]\d|[ ]?[ap]\.?m)"
            r"(?:,?[ ](?P<year>(?:1[1-9]|20)\d\d)\b(?!-\d))?",
            _read_month_day,
            "en",
        ),
        rule(rf"(?P<the>[Tt]he[ ]){_DAY_OF_MONTH}(?P<month>{month})\b(?!['’])", _read_day_month, "en"),
        *(_day_rules(language) if language.days else ()),
    )


def _month_pattern(language: Language) -> str:
    months = [*language.months, *(rf"{short}\b\.?" for short in language.short_months)]
    return "|".join(sorted(months, key=len, reverse=True))


_DAY_OF_MONTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?[ ](?:of[ ])?"


def date_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for dates and years that begin with a figure."""
    if not language.months:
        return ()
    month, year = _month_pattern(language), r"(?P<year>\d{4}|\d\d)"
    romance = ("es", "fr", "it", "nl", "pt")
    return (
        rule(r"(\d{4})-(\d\d)-(\d\d)(?![\d-])", _read_iso_date),
        rule(r"(0[1-9]|1[0-2])/([2-4]\d)(?![\d/])", _read_expiry, "en"),
        rule(
            rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})(?:/{year})?(?![\d/])",
            _read_numeric_date,
        ),
        rule(
            r"(?P<first>\d{1,2})(?P<sep>[.-])(?P<second>\d{1,2})(?P=sep)(?P<year>\d{4})(?![\d.-]\d)",
            _read_numeric_date,
            *romance,
        ),
        rule(
            r"(\d{1,2})\.\s?(\d{1,2})\.(?:\s?(\d{4})(?![\w%]|[.,]\d)|(\d\d)(?!\d))?(?!\d)",
            _read_dotted_date,
            "de",
        ),
        rule(rf"(?P<the>(?!))?{_DAY_OF_MONTH}(?P<month>{month})\b(?!['’])", _read_day_month, "en"),
        rule(r"(?P<year>(?:1[1-9]|20)\d0|[2-9]0)['’]?s\b", _read_decade, "en"),
        rule(r"(?:1[1-9]|20)\d\d(?![\w%]|[.,:/]\d|[ ]?[€$£])", _read_year, "en"),
        rule(r"1[4-9]\d\d(?![\w%]|[.,:/]\d|[ ]?[€$£])", _read_german_year, "de"),
    )
