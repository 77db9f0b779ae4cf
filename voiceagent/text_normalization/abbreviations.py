"""Abbreviations and what they stand for."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.rules import Rule, rule, text_before

_BEFORE_MORE = {
    "en": {
        "Mr.": "Mister", "Mrs.": "Missus", "Ms.": "Miz", "Prof.": "Professor", "Gen.": "General",
        "Sen.": "Senator", "Rep.": "Representative", "Gov.": "Governor", "Capt.": "Captain",
        "Sgt.": "Sergeant", "Lt.": "Lieutenant", "Col.": "Colonel", "Rev.": "Reverend",
        "Hon.": "Honorable", "Mt.": "Mount", "vs.": "versus", "approx.": "approximately", "ca.": "about",
        "cf.": "compare", "e.g.": "for example", "i.e.": "that is", "incl.": "including",
        "excl.": "excluding", "tel.": "telephone",
    },
    "de": {
        "z. B.": "zum Beispiel", "z.B.": "zum Beispiel", "d. h.": "das heißt", "d.h.": "das heißt",
        "u. a.": "unter anderem", "u.a.": "unter anderem", "bzw.": "beziehungsweise", "ca.": "circa",
        "Nr.": "Nummer", "Dr.": "Doktor", "Prof.": "Professor", "Hr.": "Herr", "Fr.": "Frau",
        "inkl.": "inklusive",
    },
    "fr": {"M.": "Monsieur", "Mme": "Madame", "Mlle": "Mademoiselle", "Dr": "Docteur", "env.": "environ",
           "p. ex.": "par exemple"},
    "es": {"Sr.": "Señor", "Sra.": "Señora", "Dr.": "Doctor", "Dra.": "Doctora", "p. ej.": "por ejemplo",
           "aprox.": "aproximadamente", "Ud.": "usted"},
}  # fmt: skip
"""Abbreviations after which the sentence goes on."""
_ANYWHERE = {
    "en": {
        "etc.": "et cetera", "Inc.": "Incorporated", "Ltd.": "Limited", "Corp.": "Corporation",
        "Co.": "Company", "Jr.": "Junior", "Sr.": "Senior", "Ave.": "Avenue", "Blvd.": "Boulevard",
        "Rd.": "Road", "Ln.": "Lane", "Hwy.": "Highway", "Apt.": "Apartment", "Dept.": "Department",
        "ext.": "extension", "Ph.D.": "PhD", "a.m.": "AM", "p.m.": "PM", "w/o": "without", "w/": "with",
        "Jan.": "January", "Feb.": "February", "Aug.": "August", "Sept.": "September", "Oct.": "October",
        "Nov.": "November", "Dec.": "December", "and/or": "and or",
    },
    "de": {"usw.": "und so weiter", "Str.": "Straße"},
    "fr": {"etc.": "et cetera"},
    "es": {"etc.": "etcétera"},
}  # fmt: skip
"""Abbreviations whose full stop may also end the sentence."""
_NUMBERED = {"no": "number", "nos": "numbers", "p": "page", "pp": "pages", "fig": "figure", "vol": "volume"}
"""Abbreviations that stand before a number, in English."""


def needs_follower(word: str, language: str) -> bool:
    """Whether `word`, full stop included, is an abbreviation after which the sentence goes on."""
    return word in _both_cases(_BEFORE_MORE.get(language, {}))


def abbreviation_rules(language: Language) -> tuple[Rule, ...]:
    """The rules of a language."""
    known = _both_cases(_BEFORE_MORE.get(language.code, {}) | _ANYWHERE.get(language.code, {}))
    if not known:
        return ()
    pattern = "|".join(re.escape(short) for short in sorted(known, key=len, reverse=True))
    table = Rule(
        re.compile(rf"(?:{pattern})(?:(?<=\W)|(?!\w))"),
        lambda match, _: _ending(match, known[match[0]]),
    )
    return (table, *_ENGLISH) if language.code == "en" else (table,)


def _both_cases(table: dict[str, str]) -> dict[str, str]:
    """With the abbreviations as they stand at the beginning of a sentence."""
    return {short[0].upper() + short[1:]: long for short, long in table.items()} | table


def _ending(match: re.Match[str], words: str) -> str:
    """How it is read at the end of a text, where its full stop is the sentence's too."""
    ends = match[0].endswith(".") and not match.string[match.end() :].strip()
    return f"{words}." if ends else words


def _read_doctor(match: re.Match[str], _: Language) -> str | None:
    """Titles before a name, "Dr. Smith", "St. John"; roads after one, "Mill Dr.", "Main St."."""
    title, road = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street")}[match[1]]
    after_name = re.search(r"[A-Z]\w*\s+$|\d(?:st|nd|rd|th)\s+$", text_before(match))
    before_name = re.match(r"\s+[A-Z]", match.string[match.end() :])
    if before_name and not (after_name and match[1] == "St"):
        return title
    return _ending(match, road) if after_name else _ending(match, title) if match[2] else None


_ENGLISH = (
    rule(r"(Dr|St)\b(\.?)", _read_doctor),
    rule(r"(nos?|pp?|fig|vol)\.\ ?(?=\d)", lambda m, _: _NUMBERED[m[1].lower()], flags=re.IGNORECASE),
    rule(r"vs\b", lambda m, _: "versus"),
    rule(r"(?:Mr|Mrs)\b(?=\ [A-Z])", lambda m, _: {"Mr": "Mister", "Mrs": "Missus"}[m[0]]),
    rule(r"(?:[A-Z]\.){2,}(?!\w)", lambda m, _: _ending(m, m[0].replace(".", ""))),
)
