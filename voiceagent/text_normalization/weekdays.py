"""Days of the week and their abbreviations: "Mon-Fri", "Sat & Sun"."""

from __future__ import annotations

import re
from collections import defaultdict

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before


def _read_days(match: re.Match[str], language: Language) -> str | None:
    names = language.short_days
    day = names[match["day"]]
    until = match["until_day"]
    if not until:
        return None if day == "Freitag" and _is_title(match) else day
    joined = "au" if language.code == "fr" and "au" in match[0] else language.until[0]
    return f"{day} {joined} {names[until]}"


def _read_day_of_several(match: re.Match[str], language: Language) -> str:
    """Read a day of "Mon/Wed/Fri" but the last."""
    return f"{language.short_days.get(match['day'], match['day'])}, "


def _read_last_day(match: re.Match[str], language: Language) -> str | None:
    """Read the last of several days: "Sat & Sun", "Mon/Wed/Fri"."""
    names = "|".join([*language.short_days, *language.days])
    several = re.compile(rf"\b(?:{names})\.?(?:,?[ ](?:{_AND})[ ]|,[ ]|/)$")
    return _read_days(match, language) if several.search(text_before(match, 24)) else None


_AND = r"und|u\.|oder|and|or|y|o|et|ou|e|en|of|&|\+"


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


def day_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for abbreviations of weekdays in a language."""
    names = language.short_days
    day = "|".join(sorted(names, key=len, reverse=True))
    words = language.until[1]
    next_day = rf"(?:{day}|{'|'.join(language.days)})\b"
    month = month_pattern(language)
    number = r"\d" if language.code == "en" else r"\d{1,2}(?:[:.]\d\d)?[ ]?(?:[-–]|Uhr|h\b|bis|a\b)"
    joined = rf"(?:{_AND})"
    rules = [
        rule(rf"(?P<day>{day}|{'|'.join(language.days)})/(?={next_day})", _read_day_of_several),
        rule(
            rf"(?P<day>{day})\b\.?[ ]?(?:[-–—]|(?:{words})\b)[ ]?(?P<until_day>{day})\b"
            r"(?:\.(?!\s+[A-Z]|\s*$))?",
            _read_days,
        ),
        rule(
            rf"(?P<day>{day})\b(?P<until_day>(?!))?(?:"
            rf"\.(?=,|[ ](?:[a-z&/-]|\d|{month}))|\.?(?=,?[ ](?:{month})|,?[ ]{number})"
            rf"|\.?(?=,?[ ]{joined}[ ]{next_day}|,[ ]{next_day}))",
            _read_days,
        ),
        rule(rf"(?P<day>{day})\b(?P<until_day>(?!))?(?!\.[ ][A-Z])", _read_last_day),
        rule(rf"(?<=\()(?P<day>{day})\b(?P<until_day>(?!))?\.?(?=\))", _read_days),
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
    return (*rules, *_initial_rules(language.day_initials.replace(" ", "")))


def _initial_rules(letters: str) -> list[Rule]:
    """Return the rule for days by their first letters, as in "M-F" but not "S-M-I-T-H"."""
    if not letters:
        return []
    days = rf"(?<!\w[-–])(?P<day>[{letters}])(?:-|–|[ ]a[ ])(?P<until_day>[{letters}])\b(?![-–]\w)"
    return [rule(days, _read_initials)]


def month_pattern(language: Language) -> str:
    """Return the regular expression of the names of months and their abbreviations."""
    months = [*language.months, *(rf"{short}\b\.?" for short in language.short_months)]
    return "|".join(sorted(months, key=len, reverse=True))
