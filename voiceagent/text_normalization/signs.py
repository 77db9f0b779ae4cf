"""Signs that are spoken by name."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import MONEY_SIGNS, Language, word_set
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before


def _read_sign(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get(match[0], match[0])


def _read_colon(match: re.Match[str], language: Language) -> str | None:
    """Read a colon between numbers: a division before "=", otherwise a ratio."""
    if "=" in text_after(match, 12):
        return language.signs.get("÷")
    return _RATIO.get(language.code) or language.signs.get("–")


def _read_range(match: re.Match[str], language: Language) -> str | None:
    """Read a dash between possible ends of a range; before "=" it is a minus."""
    before = text_before(match, 12)
    if _POWER_BEFORE.search(before):
        return language.signs.get("−")
    spaced = before.endswith(" ")
    if spaced != match[0].endswith(" ") or not _RANGE_START.search(before):
        return None
    if _RESULT.match(text_after(match, 16)):
        return language.signs.get("−")
    between, joined = _BETWEEN.get(language.code, ("(?!)", ""))
    if re.search(rf"\b{between}[ ]\S{{1,8}}[ ]?$", text_before(match, 24), re.IGNORECASE):
        return joined
    return language.signs.get("–")


def _read_key(match: re.Match[str], language: Language) -> str | None:
    before = text_before(match, 16)
    known = before.endswith(" ") and word_before(match) in _BEFORE_KEYS
    known = known or (match[0] == "#" and before[-1:].isdecimal())  # "4821#"
    return _KEYS[language.code][match[0]] if known else None


def _read_minus(_: re.Match[str], language: Language) -> str | None:
    return language.signs.get("−")


def _read_grade(match: re.Match[str], language: Language) -> str | None:
    """Read the minus of a mark or a blood type: "a B- in math"."""
    return language.signs.get("−") if _GRADE.search(text_before(match, 24)) else None


def _read_pause(match: re.Match[str], _: Language) -> str | None:
    """Read a sign between two things as a pause: "Settings > Network", "375 °F / 190 °C"."""
    return "," if re.search(r"[\w%°)\]\"'*`][ ]$", text_before(match, 2)) else None


def _read_parenthesis(match: re.Match[str], _: Language) -> str | None:
    """Read a parenthesis between two amounts as a pause: "120 km/h (75 mph)"."""
    return "," if _AMOUNT_BEFORE.search(text_before(match, 16)) else None


def _read_slash(match: re.Match[str], language: Language) -> str | None:
    """Read a slash after an amount: "per hour"; a division before "="."""
    before, unit = text_before(match, 16), language.units.get(match["unit"])
    if not unit and match["unit"][0].isupper() and language.code == "en":
        return None  # "Hi 72/Lo 55"
    after_unit = _AFTER_UNIT.search(before) and (unit or match["unit"] in _PERIODS)
    if not (_AFTER_AMOUNT.search(before) or after_unit):
        return None
    return _per(unit.one if unit else match["unit"], language)


def _per(unit: str, language: Language) -> str:
    """Return "per hour" and the like."""
    if language.code == "it":
        return _ITALIAN_PER.get(unit, f"al {unit}")
    return f"{_PER[language.code]} {unit}"


def _read_slash_of_amounts(match: re.Match[str], language: Language) -> str | None:
    """Read a slash between two amounts with their words as a pause: "32 mpg city/41 mpg highway"; between the
    units of a strength as "per": "250 mg/5 mL".
    """
    before = text_before(match, 32)
    if language.code in _PER and _DOSE.search(before) and _VOLUME_OR_TIME.match(text_after(match, 12)):
        return f"{_PER[language.code]} "
    return "," if _WORDS_OF_AMOUNT.search(before) else None


def _read_range_of_codes(match: re.Match[str], language: Language) -> str | None:
    """Read the dash of "Q1–Q4"."""
    same = re.search(rf"(?<!\w){match['letter']}\d{{1,2}}$", text_before(match, 4))
    return language.signs.get("–") if same else None


def _read_alternatives(match: re.Match[str], language: Language) -> str | None:
    """Read a slash between pronouns, articles and the like: "he or she", "und oder"."""
    before = _CHAIN_BEFORE.search(text_before(match, 24))
    if before is None:
        return None
    first, second = before[1].casefold(), match["second"].casefold()
    conjunction, either, words = _ALTERNATIVES[language.code]
    if (first, second) == (conjunction, either):
        return " "
    return either if {first, second} <= words else None


def _read_pair(match: re.Match[str], language: Language) -> str | None:
    """Read a slash between two words as a pause: "input/output"; before a period as "per"."""
    before = _WORD_BEFORE.search(text_before(match, 24))
    words = (before[0] if before else "", match["second"])
    if match["second"] in _PERIODS and language.code in _PER:
        return _PER[language.code]
    known = any(len(word) < 2 or word in language.units for word in words)
    return None if known else " "


def _read_division(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get("÷") if _RESULT.match(text_after(match, 16)) else None


_BETWEEN = {
    "en": ("between", "and"), "de": ("zwischen", "und"), "es": ("entre", "y"), "fr": ("entre", "et"),
    "it": ("(?:tra|fra)", "e"), "nl": ("tussen", "en"), "pt": ("entre", "e"),
}  # fmt: skip
"""The word before a range that begins with "between", and the word between its ends."""
_DOSE = re.compile(r"\d[ ]?(?:[mµμ]g|mcg|g|IU|units?|m[lL])$")
_VOLUME_OR_TIME = re.compile(r"[\d.,]+[ ]?(?:m?[lL]|h|hr|hours?|min)\b")
_WORDS_OF_AMOUNT = re.compile(r"(?:^|[\s(])[$€£]?\d[\d.,:]*(?:[ -]?[^\W\d_]+)(?:[ ][^\W\d_]+){0,2}$")
_RESULT = re.compile(r"[ ]?\d[\d.,]*[ ]?=")
_POWER_BEFORE = re.compile(r"(?:\^\{?\d+\}?|[²³])[ ]?$")
_AMOUNT_BEFORE = re.compile(r"\d\S{0,4}(?:[ ]\S{1,5})?[ ]$")
_GRADE = re.compile(
    r"\b(?:(?:grade|grades|graded|rating|rated|type|an?|got|gets|of|blood)[ ](?:[A-F]|AB|O)"
    r"|(?:[A-DF]|AB|O)[+-](?:,|,? (?:and|or|to))[ ](?:[A-DF]|AB|O))$",
    re.IGNORECASE,
)
"""A mark of a school or a blood type, up to its sign."""
_AFTER_AMOUNT = re.compile(rf"[\d{MONEY_SIGNS}][ ]?[x×]?$")
_AFTER_UNIT = re.compile(rf"[\d{MONEY_SIGNS}][ ]?[^\W\d_]{{1,6}}[²³]?$")
_PERIODS = word_set(
    "day night hour week month year minute second person guest room item unit visit user seat child adult "
    "gallon pound mile Tag Nacht Stunde Woche Monat Jahr Minute Sekunde Person Zimmer Stück día noche "
    "hora semana mes año minuto segundo persona jour nuit heure semaine mois an minute seconde personne "
    "giorno notte ora settimana mese anno secondo dag nacht uur week maand jaar minuut seconde persoon "
    "dia noite mês ano"
)
_ALTERNATIVES = {
    "en": (
        "and",
        "or",
        word_set("he she him her his hers they them their yes no y n mr mrs ms true false maybe"),
    ),
    "de": (
        "und",
        "oder",
        word_set("er sie ihn ihr ihm sein seine ihre der die das den ein eine ja nein herr frau"),
    ),
    "es": ("y", "o", word_set("él ella ellos ellas el la los las lo un una sí no señor señora")),
    "fr": ("et", "ou", word_set("il elle ils elles le la lui un une oui non ce cette monsieur madame")),
    "it": ("e", "o", word_set("lui lei egli ella il la lo un una sì no signore signora")),
    "nl": ("en", "of", word_set("hij zij hem haar zijn ja nee meneer mevrouw de het")),
    "pt": ("e", "ou", word_set("ele ela eles elas o a os as um uma sim não senhor senhora")),
}
"""The words for "and" and "or", and words between which a slash means "or"."""
_WORD_BEFORE = re.compile(r"(?<![\w/.@-])[^\W\d_]+$")
_CHAIN_BEFORE = re.compile(r"(?<![\w/.@-])(?:[^\W\d_]+/){0,3}([^\W\d_]+)$")
_RATIO = {"de": "zu", "fr": "contre", "nl": "op"}
"""Words for ":" between numbers, where it is not the word for a range."""
_MONEY = f"[{MONEY_SIGNS}]"
_KEYS = {
    "en": {"*": "star", "#": "pound"}, "de": {"*": "Stern", "#": "Raute"},
    "es": {"*": "asterisco", "#": "almohadilla"},
}  # fmt: skip
"""Keys of a telephone: "press #"."""
_BEFORE_KEYS = frozenset(
    [
        "press",
        "dial",
        "hit",
        "or",
        "and",
        "the",
        "die",
        "mit",
        "oder",
        "drücken",
        "tecla",
        "pulse",
        "marque",
        "o",
        "by",
        "with",
        "then",
    ]
)
_ITALIAN_PER = {
    "notte": "a notte", "persona": "a persona", "settimana": "alla settimana", "ora": "all'ora",
    "anno": "all'anno", "camera": "a camera",
}  # fmt: skip
_PER = {"en": "per", "de": "pro", "es": "por", "fr": "par", "it": "al", "nl": "per", "pt": "por"}
RANGE_START = (
    rf"(?:[\d%°{MONEY_SIGNS}]|\d\.|\d(?:st|nd|rd|th)|\d\s?[apAP]\.?\s?[mM]\.?"
    r"|\d\s?(?:Uhr|uur|h|hs|[A-Z]{3}))\s?"
)
"""Matches the end of the first half of a range, before its dash: "9 am", "$10"."""
_RANGE_START = re.compile(RANGE_START + "$")
RULES: tuple[Rule, ...] = (
    rule(rf"[-–—][ ]?(?={_MONEY}?\d|[A-Z][a-zä]{{2,9}}\.?[ ]\d)", _read_range),
    rule(rf"(?<![\w.)\]%])[-−](?={_MONEY}?\d)", _read_minus),
    rule(r"(?<=UTC|GMT)[-−–](?=\d)", _read_minus),
    rule(r"-(?=[,.;:!?)]|$|[ ][a-z])", _read_grade, "en"),
    rule(r"(?<=\d):(?=\d)", _read_colon),
    rule(r"(?<![^ ]):(?=[0-5]\d\b)", lambda match, _: ""),
    rule(
        r"(?:(?<=[nN]oon)|(?<=[mM]idnight))[-–—](?=\d|noon\b|midnight\b)"
        r"|(?<=[apAP][mM])[-–—](?=(?:noon|midnight)\b)",
        lambda _, language: language.signs.get("–"),
        "en",
    ),
    rule(r"(?<=[IVX])[-–—](?=[IVX]{1,5}\b)", lambda _, language: language.signs.get("–")),
    *(rule(r"/(?=(?P<second>[^\W\d_]+)(?![\w@-]|\.\w))", _read_alternatives, code) for code in _ALTERNATIVES),
    rule(r"[ ]?/[ ]?(?P<unit>mo|yr|hr|wk|min|sec)\.(?=[ ][a-z\d+&(–—-]|[,;:])", _read_slash, "en"),
    rule(r"(?<=\d)[ ]?/[ ]?ea\b(?:\.(?=[ ][a-z]|[,;]))?", lambda match, _: "each", "en"),
    *(rule(r"[ ]?/[ ]?(?P<unit>[^\W\d_]+)", _read_slash, code) for code in _PER),
    rule(r"(?<![^ ])/(?=(?!or\b|and\b)[a-z]\w*(?![\w/]))", lambda _, language: language.signs.get("/")),
    rule(r"/(?=(?P<second>[^\W\d_]+)(?![\w/@-]|\.\w))", _read_pair),
    rule(r"(?<=[\d ])/(?=[ ]?\d)", _read_division),
    rule(r"(?<=[ ])(?:[/›]|>(?![ ]-?\d[\d.,]*(?!\w)))(?=[ ][\w\"'*`-])", _read_pause),
    rule(r"(?<=°[CF])/(?=-?\d)|(?<=\d)/(?=[A-Z][a-z]+[ ]\d)", lambda match, _: ","),
    rule(r"(?<=[ ])\((?=[~≈<>±−$€£¥+-]?\d)", _read_parenthesis),
    rule(r"(?:->|=>|-->)", lambda match, language: language.signs.get("→", " ")),
    rule(r"(?<=\d[hj])/(?=\d)", lambda match, _: "sur", "fr"),
    rule(r"/(?=[$€£]\d|\d[\d.,:]*[ -]?[^\W\d_])", _read_slash_of_amounts),
    rule(r"[-–—](?=(?P<letter>[A-Z])\d)", _read_range_of_codes),
    rule(r">=", lambda match, language: language.signs.get("≥")),
    rule(r"<=", lambda match, language: language.signs.get("≤")),
    rule(r"!=", lambda match, language: language.signs.get("≠")),
    rule(r"&amp;", lambda match, language: language.signs.get("&")),
    rule(
        rf"(?<=\w)/(?=\w) | (?<=\w)→ | (?<=\w[ ])→ | [&@+=×÷±−°%§≈≤≥≠√π∞{MONEY_SIGNS}]"
        rf"| [<>~](?=[ ]?[{MONEY_SIGNS}-]?\d) | [\#№](?=[ ]?\d)",
        _read_sign,
    ),
)
KEY_RULES: tuple[Rule, ...] = (
    rule(r"([*\#])(?=-?[Tt]aste)-?", lambda match, language: _KEYS[language.code][match[1]], "de"),
    rule(r"[*\#](?=\d{2,3}\b|[ ,.;!?]|$)", _read_key, "en", "de", "es"),
)
"""Rules for signs that Markdown would otherwise consume."""
