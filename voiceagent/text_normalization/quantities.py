"""Numbers, percentages, fractions and counts."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import counting_words, noun_gender
from voiceagent.text_normalization.languages import Language, word_set
from voiceagent.text_normalization.numbers import digit_words, in_words, number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before

_SCALES = {"k": "thousand", "K": "thousand", "M": "million"}
_BY = {"en": "by", "de": "mal", "es": "por"}
_LENGTH_BEFORE = re.compile(r"\d[ ]?(?:[cmk]?m|ft|in)[ ]$")
_PARTS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}
_FRACTIONS = {
    "de": {
        "1/2": ("ein halb", "einhalb"), "1/4": ("ein Viertel", " ein Viertel"),
        "3/4": ("drei Viertel", " drei Viertel"), "1/3": ("ein Drittel", " ein Drittel"),
        "2/3": ("zwei Drittel", " zwei Drittel"),
    },
    "es": {
        "1/2": ("medio", " y medio"), "1/4": ("un cuarto", " y cuarto"),
        "3/4": ("tres cuartos", " y tres cuartos"), "1/3": ("un tercio", " y un tercio"),
        "2/3": ("dos tercios", " y dos tercios"),
    },
}  # fmt: skip
"""Fractions alone, and after a whole number."""
_NO_NOUNS = {
    "es": word_set(
        "para o u y e de del a al en con por es son está están que si no más menos el la los las un una "
        "tiene cuesta sale llega ya también como ni sobre desde hasta se le lo cada entre sin va queda "
        "abre cierra"
    ),
}
"""Words after a number that are not counted by it."""
_NAMED_BY_NUMBER = word_set(
    "habitación mesa planta puerta sala número opción línea autobús página piso terminal andén "
    "capítulo nivel zona pulse pulsa marque elija opción zimmer tisch raum gleis bus linie seite "
    "nummer tür haus taste die der"
)
"""Words whose number counts nothing: "la mesa 1 tiene vistas"."""


def _read_percent(match: re.Match[str], language: Language) -> str | None:
    words = number_words(match["amount"], language)
    return f"{words} {language.signs['%']}" if words and "%" in language.signs else None


def _read_scaled(match: re.Match[str], language: Language) -> str:
    return f"{number_words(match['amount'], language)} {_SCALES[match['scale']]}"


def _read_english_fraction(match: re.Match[str], language: Language) -> str | None:
    top, bottom = (int(part) for part in _VULGAR.get(match["part"], match["part"]).split("/"))
    if not (0 < top < bottom <= 10):
        return None
    one, many = _PARTS.get(bottom) or (in_words(bottom, language, "ordinal") or "",) * 2
    many = many if bottom in _PARTS else f"{many}s"
    if match["whole"]:
        part = f"a {one}" if top == 1 else f"{in_words(top, language)} {many}"
        return f"{number_words(match['whole'].strip(), language)} and {part}"
    return f"{in_words(top, language)} {one if top == 1 else many}"


def _read_fraction(match: re.Match[str], language: Language) -> str | None:
    part = _VULGAR.get(match["part"], match["part"])
    if part not in _FRACTIONS[language.code]:
        return None
    alone, after_whole = _FRACTIONS[language.code][part]
    noun = re.match(r"\s([^\W\d_]+)", text_after(match, 30))
    gender = noun_gender(noun[1], language) if noun else "m"
    if match["whole"]:
        whole = counting_words(match["whole"].strip(), language, gender if language.code == "es" else "n")
        return (
            f"{whole}{after_whole[:-1] + 'a' if after_whole == ' y medio' and gender == 'f' else after_whole}"
        )
    if part == "1/2" and noun:
        if language.code == "es":
            return "media" if gender == "f" else alone
        return {"f": "eine halbe", "n": "ein halbes", "m": "ein halber"}[gender]
    return alone


def _read_over(match: re.Match[str], language: Language) -> str | None:
    """Read a blood pressure: "120/80"."""
    over = {"en": "over", "de": "zu", "es": "sobre"}[language.code]
    first, second = int(match[1]), int(match[2])
    if not (70 <= first <= 250 and 40 <= second < first):
        return None
    return f"{number_words(match[1], language)} {over} {number_words(match[2], language)}"


def _read_times(match: re.Match[str], language: Language) -> str | None:
    if language.code == "de":
        return f"{'ein' if match[1] == '1' else number_words(match[1], language)}mal"
    one, many = {"en": ("time", "times"), "es": ("vez", "veces")}[language.code]
    return f"{counting_words(match[1], language, 'f')} {one if match[1] == '1' else many}"


def _read_german_decade(match: re.Match[str], language: Language) -> str | None:
    year = int(match["year"])
    words = in_words(year, language, "year" if year > 99 else "cardinal")
    return f"{words}{match['ending']}" if words else None


def _read_by(match: re.Match[str], language: Language) -> str:
    return f"{number_words(match[1], language)} {_BY[language.code]}"


def _read_number(match: re.Match[str], language: Language) -> str | None:
    noun = re.match(r"[ ]([^\W\d_]+)", text_after(match, 30)) if language.code in ("de", "es") else None
    written = match[0]
    if noun is None or "," in written or word_before(match) in _NAMED_BY_NUMBER:
        return number_words(written, language)
    counted = noun[1]
    if language.code == "es":
        if counted in _NO_NOUNS["es"] or not counted.islower():
            return number_words(written, language)
    elif written != "1":
        return number_words(written, language)
    elif counted.islower():
        adjective = re.match(r"[ ][a-zäöüß]+e[rsn]?[ ]([A-ZÄÖÜ]\w+)", text_after(match, 60))
        if adjective is None:
            return number_words(written, language)
        counted = adjective[1]
    return counting_words(written, language, noun_gender(counted, language), word_before(match))


def _read_point(match: re.Match[str], language: Language) -> str | None:
    after = digit_words(match[0], language)
    return f"{language.point} {after}" if language.point and after else None


def point_rules() -> tuple[Rule, ...]:
    """Return the rules for decimals without a whole number: ".5"."""
    return (rule(r"(?<![\w.])\.\d+", _read_point),)


def _read_by_of_lengths(match: re.Match[str], language: Language) -> str | None:
    return _BY[language.code] if _LENGTH_BEFORE.search(text_before(match, 8)) else None


WORD_RULES: tuple[Rule, ...] = (rule(r"x(?=[ ]\d)", _read_by_of_lengths, *_BY),)
"""The rules for letters among figures: the "x" in "4 m x 5 m"."""


def quantity_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for numbers in words; the rule for plain numbers is the last."""
    amount = rf"(?P<amount>{number_pattern(language)})"
    fraction = r"(?P<whole>\d+[ ](?=\d{1,2}/)|\d+(?=[½⅓⅔¼¾⅛]))?(?P<part>\d{1,2}/\d{1,2}(?![\d/])|[½⅓⅔¼¾⅛])"
    return (
        rule(rf"{amount}[ \u00a0\u202f]?%", _read_percent),
        rule(rf"{amount}(?P<scale>[kKM])(?![\w'’])", _read_scaled, "en"),
        *(rule(r"(\d{1,4}(?:[.,]\d{1,2})?)[ ]?[x×](?=[ ]?\d)", _read_by, code) for code in _BY),
        rule(r"24/7\b", lambda match, _: "twenty-four seven", "en"),
        rule(r"24/7\b", lambda match, _: "vierundzwanzig sieben", "de"),
        rule(r"24/7\b", lambda match, _: "veinticuatro siete", "es"),
        rule(r"(\d{2,3})/(\d{2,3})(?![\d/])", _read_over, "en", "de", "es"),
        rule(r"(\d{1,2})x\b(?![ ]?\d)", _read_times, "en", "de", "es"),
        rule(r"(?P<year>(?:1[1-9]|20)?[2-9]0)(?P<ending>ern?)\b", _read_german_decade, "de"),
        rule(fraction, _read_english_fraction, "en"),
        rule(fraction, _read_fraction, "de", "es"),
        rule(number_pattern(language), _read_number),
    )
