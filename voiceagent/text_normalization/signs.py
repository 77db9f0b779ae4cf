"""Signs that are spoken by name."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import MONEY_SIGNS, Language, word_set
from voiceagent.text_normalization.numbers import number_words
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


def _read_slash(match: re.Match[str], language: Language) -> str | None:
    """Read a slash after an amount: "per hour"; a division before "="."""
    before, unit = text_before(match, 16), language.units.get(match["unit"])
    after_unit = _AFTER_UNIT.search(before) and (unit or match["unit"] in _PERIODS)
    if not (_AFTER_AMOUNT.search(before) or after_unit):
        return None
    return f"{_PER[language.code]} {unit.one if unit else match['unit']}"


def _read_alternatives(match: re.Match[str], language: Language) -> str | None:
    """Read a slash between pronouns, articles and the like: "he or she", "und oder"."""
    before = _WORD_BEFORE.search(text_before(match, 24))
    if before is None:
        return None
    first, second = before[0].casefold(), match["second"].casefold()
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


def _read_formula_end(match: re.Match[str], _: Language) -> str | None:
    return "" if _FORMULA.search(text_before(match, 80)) else None


def _read_division(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get("÷") if _RESULT.match(text_after(match, 16)) else None


def _read_power(match: re.Match[str], language: Language) -> str | None:
    exponent = match["exponent"].translate(_SUPERSCRIPTS)
    squared, cubed, power = _POWERS[language.code]
    words = {"2": squared, "3": cubed}.get(exponent)
    return words or f"{power} {number_words(exponent.lstrip('-'), language)}"


_BETWEEN = {
    "en": ("between", "and"), "de": ("zwischen", "und"), "es": ("entre", "y"), "fr": ("entre", "et"),
    "it": ("(?:tra|fra)", "e"), "nl": ("tussen", "en"), "pt": ("entre", "e"),
}  # fmt: skip
"""The word before a range that begins with "between", and the word between its ends."""
_RESULT = re.compile(r"[ ]?\d[\d.,]*[ ]?=")
_AFTER_AMOUNT = re.compile(rf"[\d{MONEY_SIGNS}][ ]?$")
_AFTER_UNIT = re.compile(rf"[\d{MONEY_SIGNS}][ ]?[^\W\d_]{{1,6}}[²³]?$")
_PERIODS = word_set(
    "day night hour week month year minute second person guest room item unit visit user seat child adult "
    "gallon pound mile Tag Nacht Stunde Woche Monat Jahr Minute Sekunde Person Zimmer Stück día noche "
    "hora semana mes año minuto segundo persona jour nuit heure semaine mois an minute seconde personne "
    "giorno notte ora settimana mese anno secondo dag nacht uur week maand jaar minuut seconde persoon "
    "dia noite mês ano"
)
_ALTERNATIVES = {
    "en": ("and", "or", word_set("he she him her his hers they them their yes no mr mrs ms true false")),
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
_FORMULA = re.compile(r"\$(?=[^$]*[\\^=])[A-Za-z\\(][^$\n]*$")
"""The beginning of a formula in the marks of TeX, up to its end."""
_RATIO = {"de": "zu", "fr": "contre", "nl": "op"}
"""Words for ":" between numbers, where it is not the word for a range."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_POWERS = {
    "en": ("squared", "cubed", "to the power of"), "de": ("Quadrat", "hoch drei", "hoch"),
    "es": ("al cuadrado", "al cubo", "elevado a"), "fr": ("au carré", "au cube", "puissance"),
    "it": ("al quadrato", "al cubo", "alla potenza di"), "nl": ("kwadraat", "tot de derde", "tot de macht"),
    "pt": ("ao quadrado", "ao cubo", "elevado a"),
}  # fmt: skip
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
    rule(r"(?<=\d):(?=\d)", _read_colon),
    *(
        rule(r"/(?=(?P<second>[^\W\d_]+)(?![\w/@-]|\.\w))", _read_alternatives, code)
        for code in _ALTERNATIVES
    ),
    *(rule(r"[ ]?/[ ]?(?P<unit>[^\W\d_]+)", _read_slash, code) for code in _PER),
    rule(r"/(?=(?P<second>[^\W\d_]+)(?![\w/@-]|\.\w))", _read_pair),
    rule(r"\$(?=(?:[A-Za-z(][^$\n]{0,80}?[\\^=]|\\[a-z(])[^$\n]{0,80}\$)", lambda match, _: ""),
    rule(r"\$(?!\w)", _read_formula_end),
    rule(r"(?<=[\d ])/(?=[ ]?\d)", _read_division),
    rule(r"(?:->|=>|-->)", lambda match, language: language.signs.get("→", " ")),
    rule(r"(?<=\d[hj])/(?=\d)", lambda match, _: "sur", "fr"),
    rule(r">=", lambda match, language: language.signs.get("≥")),
    rule(r"<=", lambda match, language: language.signs.get("≤")),
    rule(r"!=", lambda match, language: language.signs.get("≠")),
    rule(r"&amp;", lambda match, language: language.signs.get("&")),
    rule(
        rf"(?<=\w)/(?=\w) | (?<=\w)→ | (?<=\w[ ])→ | [&@+=×÷±−°%§≈≤≥≠√π∞{MONEY_SIGNS}]"
        r"| [<>~\#№](?=[ ]?\d)",
        _read_sign,
    ),
)
POWER_RULES: tuple[Rule, ...] = tuple(
    rule(r"(?:(?<=[\w)])\^(?=-?\d))?(?P<exponent>[⁻⁰¹²³⁴-⁹]+|(?<=\^)-?\d+(?![\w^]))", _read_power, code)
    for code in _POWERS
)
"""Rules for exponents: "5²", "x^2"."""
KEY_RULES: tuple[Rule, ...] = (
    rule(r"([*\#])(?=-?[Tt]aste)-?", lambda match, language: _KEYS[language.code][match[1]], "de"),
    rule(r"[*\#](?=\d{2,3}\b|[ ,.;!?]|$)", _read_key, "en", "de", "es"),
)
"""Rules for signs that Markdown would otherwise consume."""
