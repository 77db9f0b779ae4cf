"""Abbreviations."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language, both_cases
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before
from voiceagent.text_normalization.sentence_ends import NUMERAL, answers_no, ends_after_abbreviation
from voiceagent.text_normalization.streets import POINTED_STATES

_STREETS = {
    "Ave": "Avenue", "Blvd": "Boulevard", "Rd": "Road", "Ln": "Lane", "Pkwy": "Parkway", "Ct": "Court",
    "Pl": "Place", "Sq": "Square", "Hwy": "Highway", "Cir": "Circle", "Ter": "Terrace", "Fl": "Floor",
}  # fmt: skip
_TITLES = {
    "Prof": "Professor", "Sgt": "Sergeant", "Capt": "Captain", "Lt": "Lieutenant", "Rev": "Reverend",
    "Gov": "Governor", "Sen": "Senator", "Mt": "Mount", "Ft": "Fort",
}  # fmt: skip
"""Titles before a name that are also written without a full stop."""
_CAPITALIZED = frozenset(["Rev.", "Rep.", "Gen.", "Col.", "Hon.", "Pres.", "Sen."])
"""Titles that are abbreviations of other words, unless a name follows."""
_LIMITS = {"max.": "maximum", "min.": "minimum"}
_AFTER_NAME = re.compile(
    r"\b(?!(?:The|Our|Your|My|This|At|In|On|To|From|Near|Visit|And|For|Is|Ask|Call|See|Both)\s)[A-Z]\w*\s+$"
    r"|\d(?:st|nd|rd|th)\s+$"
)


def abbreviation_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for abbreviations in a language."""
    names, numbered = language.abbreviations, language.before_numbers
    rules: list[Rule] = []
    if numbered:
        pattern = "|".join(re.escape(short) for short in sorted(numbered, key=len, reverse=True))
        rules.append(
            rule(
                rf"(?:{pattern})\ ?(?=\d|(?-i:(?:{NUMERAL.pattern})\b|[A-Z]{{1,4}}-?\d))",
                _read_before_number,
                flags=re.IGNORECASE,
            )
        )
    if names:
        pattern = "|".join(re.escape(short) for short in sorted(names, key=len, reverse=True))
        rules.append(
            Rule(
                re.compile(rf"(?:{pattern})(?:(?<=\W)|(?!\w))(?![A-Z]\.)"),
                lambda match, language: _ending(match, names[match[0]], language),
            )
        )
    first = {"en": (_LETTER_PAIR,), "es": _SPANISH}.get(language.code, ())
    return (*first, *rules, *{"en": _ENGLISH, "de": _GERMAN}.get(language.code, ()), *_INITIALS)


def _read_before_number(match: re.Match[str], language: Language) -> str | None:
    """Read "no. 5", "vol. II"; an answer before a letter is none: "She said no. X is wrong."."""
    answer = not text_after(match, 1).isdigit() and answers_no(text_before(match, 24) + match[0])
    return None if answer else language.before_numbers[match[0].strip().lower()]


def _ending(match: re.Match[str], words: str, language: Language) -> str:
    """Return the words, with a full stop if that of the abbreviation also ends the sentence."""
    if match[0] in _CAPITALIZED and re.match(r"[ ](?!(?:and|of)\b)[a-z]", text_after(match, 5)):
        return match[0]  # "Rev. up 5%" is no reverend
    if not match[0].endswith(".") or words.endswith("."):
        return words
    if match[0] not in both_cases(language.anywhere) and text_after(match).strip():
        return words
    ends = ends_after_abbreviation(match[0], text_after(match, 40), language, text_before(match, 60))
    return f"{words}." if ends else words


def _read_doctor(match: re.Match[str], language: Language) -> str | None:
    """Read titles before a name, "Dr. Smith", "St. John", and roads after one, "Mill Dr.", "Main St."."""
    title, road = {"Dr": ("Doctor", "Drive"), "St": ("Saint", "Street")}[match[1]]
    after_name = _AFTER_NAME.search(text_before(match, 40))
    before_name = re.match(r"\s+[A-Z]", text_after(match, 8))
    if before_name and not (after_name and match[1] == "St"):
        return title
    if after_name:
        return _ending_road(match, road, language)
    return _ending_road(match, title, language) if match[2] else None


def _ending_road(match: re.Match[str], words: str, language: Language) -> str:
    ends = ends_after_abbreviation(match[0], text_after(match, 40), language, text_before(match, 60))
    return f"{words}." if match[2] and ends else words


def _read_street(match: re.Match[str], language: Language) -> str | None:
    if not _AFTER_NAME.search(text_before(match, 40)):
        return None
    return _ending_road(match, _STREETS[match[1]], language)


def _read_german_street(match: re.Match[str], language: Language) -> str:
    return (
        match[1] + ("-" if match[1].endswith("-") else "") + "straße"
        if match[1].islower()
        else f"{match[1]}straße"
    )


def _initials(match: re.Match[str], language: Language) -> str | None:
    letters = match[0].replace(".", "")
    is_state = language.code == "en" and re.fullmatch(POINTED_STATES, match[0])
    if is_state and re.match(r"[ ]\d{5}(?!\d)", text_after(match, 7)):
        return None  # "D.C. 20001": `streets` has the state
    ends = ends_after_abbreviation(match[0], text_after(match, 40), language, text_before(match, 60))
    return f"{letters}." if ends else letters


def _read_versus(match: re.Match[str], _: Language) -> str | None:
    """Read the name of a lawsuit: "Smith v. Jones"."""
    return "versus" if re.search(r"\b[A-Z][\w.'’]*[ ]$", text_before(match, 24)) else None


def _read_age(match: re.Match[str], _: Language) -> str:
    """Read "a 10 y/o" and "35 y.o."."""
    words = "year old" if re.search(r"\ban?[ ]\d+[ -]$", text_before(match, 12)) else "years old"
    return f"{words}." if match[0].endswith(".") and not text_after(match).strip() else words


def _read_letter_pair(match: re.Match[str], language: Language) -> str | None:
    """Read "I/O" and "W/D" as two letters; "N/A" and "Y/N" have words of their own."""
    own = match[0] in both_cases(language.before_more) or match[0] in ("N/A", "Y/N")
    return None if own and match[0] != "W/" else f"{match[1]} {match[2]}"


_LETTER_PAIR = rule(r"(?<!/)([A-Z])/([A-Z])(?![\w/'’]|\.\w)", _read_letter_pair)
_ENGLISH = (
    rule(r"(?<=\d[ -])(?:y/o\b|y\.o\.)", _read_age),
    rule(r"[Aa]pt\.(?=[ ][a-z])", lambda m, _: "apartment" if m[0][0] == "a" else "Apartment"),
    rule(
        r"(?<=\d\+[ ])(mins|hrs|yrs|secs)\b(?:\.(?=[ ][a-z]))?",
        lambda m, language: language.units[m[1]].many,
    ),
    rule(r"(Dr|St)\b(\.?)", _read_doctor),
    rule(rf"({'|'.join(_STREETS)})\b(\.?)", _read_street),
    rule(
        r"no\.(?=[ ](?:is|was)\b)",
        lambda m, _: None if answers_no(text_before(m, 24) + m[0]) else "number",
        flags=re.IGNORECASE,
    ),
    rule(r"pp(?=[ ]\d)", lambda m, _: "pages"),
    rule(r"([Mm]ax|[Mm]in)\.(?=[ ][a-z$£€])", lambda m, _: _LIMITS[m[0].lower()]),
    rule(r"vs\b", lambda m, _: "versus"),
    rule(r"v\.(?=[ ][A-Z])", _read_versus),
    rule(r"c\.(?=\ ?1\d{3}\b)", lambda m, _: "circa"),
    rule(r"(?<=degrees\ )[CF]\b", lambda m, _: {"C": "Celsius", "F": "Fahrenheit"}[m[0]]),
    rule(rf"(?:{'|'.join(_TITLES)})\b(?=\ [A-Z][a-z])", lambda m, _: _TITLES[m[0]]),
    rule(r"(?:Mr|Mrs|Ms)\b(?=\ [A-Z])", lambda m, _: {"Mr": "Mister", "Mrs": "Missus", "Ms": "Miz"}[m[0]]),
    rule(
        r"(?:apt|ste|bldg|rm|hwy|rte|rt|ext)\b(?=\ \#?\d)",
        lambda m, language: language.before_numbers[f"{m[0].lower()}."],
        flags=re.IGNORECASE,
    ),
)
_SPANISH = (rule(r"c/(?=\ ?\d{1,2}\ ?(?:h|hs|horas|d|días|semanas)\b)", lambda m, _: "cada "),)
_INITIALS = (rule(r"(?:[A-Z]\.){2,}(?!\w)", _initials),)
_GERMAN = (
    rule(r"([A-ZÄÖÜ][\wäöüß-]{1,40}?)str(?:\.|(?=\ \d))(?!\w)", _read_german_street),
    rule(r"([A-ZÄÖÜ][a-zäöüß-]{2,40}?)nr\.", lambda match, _: f"{match[1]}nummer"),
)
