"""Names and words of each language for the rules, from one table a language in `languages/`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

TABLES = Path(__file__).parent / "languages"
MONEY_SIGNS = "$€£¥₹₩¢₽₺₪₴₦₱₫฿₿"
Gender = Literal["m", "f", "n"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of measure: its name for one and for many, and its gender."""

    one: str
    many: str
    gender: Gender = "n"


@dataclass(frozen=True, slots=True)
class Labels:
    """Words that mark figures as a code or a number to dial, all in lower case.

    codes, references, places: words before the figures. endings: ends of compound words that are codes.
    verbs: verbs before a code, as in "enter 482913". between: words between label and figures. loose: those
    of them that may also begin a count, as in "an order for 250 chairs". back: words that refer to a label in
    the sentence before. counted: nouns after a count, as in "1042 people". place_digits: a place with fewer
    figures is read as a number.
    """

    codes: frozenset[str]
    references: frozenset[str]
    places: frozenset[str]
    verbs: frozenset[str]
    between: frozenset[str]
    loose: frozenset[str]
    back: frozenset[str]
    counted: re.Pattern[str]
    endings: tuple[str, ...] = ()
    place_digits: int = 3


@dataclass(frozen=True, slots=True)
class Roman:
    """Words next to Roman numerals.

    rulers: names before an ordinal, as in "Henry VIII". counted: words before a number, in lower case, as in
    "chapter IV". ordered: words after an ordinal, as in "XIX century".
    """

    rulers: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    ordered: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """Number formats of a language and its names for signs. Missing entries leave the text as written.

    code: ISO 639. group, decimal: regular expressions of the separators of thousands and of decimals. point:
    spoken name of the decimal separator. hour: word between hour and minutes. currencies: by sign, code or
    name, the names for one and for many. cents: the same for a hundredth of a currency. scales:
    abbreviations of "million" and the like after a sum. short_days, short_months: abbreviations without full
    stops; day_initials: weekdays as single letters. until: the word for a range, and its written forms.
    before_dates: words before "3/5" as a date. before_more: abbreviations that do not end a sentence;
    anywhere: those whose full stop may also end it; before_numbers: those before a number, in lower case.
    directions: first words of stage directions. roman: words beside Roman numerals. states: names of states
    by their letters before a postal code.
    """

    code: str
    group: str = ","
    decimal: str = r"\."
    point: str = ""
    hour: str = ""
    signs: Mapping[str, str] = field(default_factory=dict)
    currencies: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    cents: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    scales: Mapping[str, str] = field(default_factory=dict)
    months: tuple[str, ...] = ()
    days: tuple[str, ...] = ()
    short_days: Mapping[str, str] = field(default_factory=dict)
    day_initials: str = ""
    until: tuple[str, str] = ("", "")
    before_dates: frozenset[str] = frozenset()
    before_more: Mapping[str, str] = field(default_factory=dict)
    anywhere: Mapping[str, str] = field(default_factory=dict)
    before_numbers: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, Unit] = field(default_factory=dict)
    labels: Labels | None = None
    directions: tuple[str, ...] = ()
    roman: Roman = Roman()
    states: Mapping[str, str] = field(default_factory=dict)

    @property
    def short_months(self) -> dict[str, int]:
        """Abbreviations of months and their numbers."""
        long = [(name, number) for number, name in enumerate(self.months, 1) if len(name) > 3]
        four = {name[:4]: number for name, number in long if name.lower().startswith("sept")}
        return {name[:3]: number for name, number in long} | four

    @property
    def abbreviations(self) -> dict[str, str]:
        """All abbreviations with their own full stops, also capitalized as at the start of a sentence."""
        return both_cases({**self.before_more, **self.anywhere})


def both_cases(table: Mapping[str, str]) -> dict[str, str]:
    """Return the table with capitalized keys in addition."""
    return {short[0].upper() + short[1:]: long for short, long in table.items()} | dict(table)


def word_set(text: str) -> frozenset[str]:
    """Return the set of words in a text; a text is the shortest form of a long list."""
    return frozenset(text.split())


_SPACE = "[\u00a0\u202f ]"
_DECIMAL_COMMA_AFTER_POINTS = ("da", "id", "ro", "sl", "sr", "tr", "vi")
_DECIMAL_COMMA_AFTER_SPACES = ("bg", "cs", "fi", "hu", "lt", "lv", "no", "pl", "ru", "sk", "sv", "uk")


@cache
def find_language(code: str) -> Language:
    """Return the tables of a language. code: ISO 639."""
    if code in known_languages():
        return _read(code, tomllib.loads((TABLES / f"{code}.toml").read_text("utf-8")))
    if code in _DECIMAL_COMMA_AFTER_POINTS:
        return Language(code, r"\.", ",")
    if code in _DECIMAL_COMMA_AFTER_SPACES:
        return Language(code, _SPACE, ",")
    return Language(code)


@cache
def known_languages() -> frozenset[str]:
    """Return the codes of the languages that have tables."""
    return frozenset(path.stem for path in TABLES.glob("*.toml"))


def _read(code: str, table: dict[str, Any]) -> Language:
    abbreviations = table.get("abbreviations", {})
    currencies = table["currencies"] | table.get("currency_codes", {})
    return Language(
        code,
        table["group"],
        table["decimal"],
        table["point"],
        table.get("hour", ""),
        signs=table["signs"],
        currencies={sign: (one, many) for sign, (one, many) in currencies.items()},
        cents={sign: (one, many) for sign, (one, many) in table.get("cents", {}).items()},
        scales=table.get("scales", {}),
        months=tuple(table["months"].split()),
        days=tuple(table.get("days", "").split()),
        short_days=_read_short_days(table),
        day_initials=table.get("day_initials", ""),
        until=(table.get("until", ""), table.get("until_written", "")),
        before_dates=frozenset(table["before_dates"].split()),
        before_more=abbreviations.get("before_more", {}),
        anywhere=abbreviations.get("anywhere", {}),
        before_numbers=abbreviations.get("before_numbers", {}),
        units=_read_units(table.get("units", {})),
        labels=_read_labels(table["labels"]) if "labels" in table else None,
        states=table.get("states", {}),
        roman=Roman(**{key: word_set(words) for key, words in table.get("roman", {}).items()}),
        directions=tuple(table.get("directions", {}).get("words", "").split()),
    )


def _read_short_days(table: dict[str, Any]) -> dict[str, str]:
    names = table.get("days", "").split()
    short = dict(zip(table.get("short_days", "").split(), names, strict=True))
    more = {each: names[day] for each, day in table.get("more_short_days", {}).items()}
    return both_cases(short | more)


def _read_units(table: dict[str, list[Any]]) -> dict[str, Unit]:
    """Read units by symbol; in a symbol "_" is a blank."""
    return {
        symbol.replace("_", " "): Unit(*names)
        for symbols, names in table.items()
        for symbol in symbols.split()
    }


def _read_labels(table: dict[str, Any]) -> Labels:
    counted = "|".join(word.replace("_", " ") for word in table.pop("counted").split())
    more = {key: table.pop(key) for key in ("endings", "place_digits") if key in table}
    return Labels(
        **{name: frozenset(words.split()) for name, words in table.items()},
        counted=re.compile(rf"[ \u00a0-]?(?:{counted})(?!\w)", re.IGNORECASE),
        endings=tuple(more.get("endings", ())),
        place_digits=more.get("place_digits", 3),
    )
