"""Numbers, percentages, fractions and counts."""

from __future__ import annotations

import re
from collections.abc import Callable

from voiceagent.text_normalization.agreement import counting_words, noun_gender
from voiceagent.text_normalization.languages import MONEY_SIGNS, Language, word_set
from voiceagent.text_normalization.numbers import digit_words, in_words, number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before
from voiceagent.text_normalization.units import stop_pattern

_SCALES = {"k": "thousand", "K": "thousand", "M": "million", "mn": "million", "bn": "billion"}
_BY = {"en": "by", "de": "mal", "es": "por", "fr": "sur", "it": "per", "nl": "bij", "pt": "por"}
_MULTIPLIED = re.compile(
    rf"[ ]?(?:[{MONEY_SIGNS}]|10(?:\^|[⁰¹²³⁴-⁹⁻])"
    rf"|[\d.,]+[ ]?(?:mg|mcg|µg|g|kg|cl|dl|ml|mL|l|L|oz|lbs?|IU|[{MONEY_SIGNS}])(?!\w))"
)
"""An amount after "2 x" that has no sides: "2 x 500 mg", "3.1 × 10^8"."""
_LENGTH_BEFORE = re.compile(r"\d(?:[ ]?(?:[cmk]?m|ft|in\.?)|['’′\"″])(?:[ ]?[WDHLB])?[ ]?$")
"""A length, also with a letter that names its side: '84" W x 38" D'."""
_SMALL_PARTS = frozenset([16, 32, 64, 100, 1000])
"""Denominators above ten that are no day of a month."""
_OUT_OF = {"en": "out of", "de": "von", "es": "sobre", "fr": "sur", "it": "su", "nl": "van de", "pt": "de"}
_AROUND_THE_CLOCK = {
    "en": "twenty-four seven", "de": "vierundzwanzig sieben", "es": "veinticuatro siete",
    "fr": "vingt-quatre heures sur vingt-quatre", "it": "ventiquattro ore su ventiquattro",
    "nl": "vierentwintig zeven", "pt": "vinte e quatro horas",
}  # fmt: skip
"""Spoken forms of "24/7"."""
_PARTS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}
_FRACTIONS = {
    "fr": {
        "1/2": ("un demi", " et demi"), "1/4": ("un quart", " un quart"),
        "3/4": ("trois quarts", " trois quarts"), "1/3": ("un tiers", " un tiers"),
        "2/3": ("deux tiers", " deux tiers"),
    },
    "it": {
        "1/2": ("mezzo", " e mezzo"), "1/4": ("un quarto", " e un quarto"),
        "3/4": ("tre quarti", " e tre quarti"), "1/3": ("un terzo", " e un terzo"),
        "2/3": ("due terzi", " e due terzi"),
    },
    "nl": {
        "1/2": ("een half", "eneenhalf"), "1/4": ("een kwart", " en een kwart"),
        "3/4": ("driekwart", " en driekwart"), "1/3": ("een derde", " en een derde"),
        "2/3": ("twee derde", " en twee derde"),
    },
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
_HALF_BEFORE_NOUN = {
    "de": {"f": "eine halbe", "n": "ein halbes", "m": "ein halber"}, "es": {"f": "media", "m": "medio"},
    "fr": {"f": "une demi", "m": "un demi"}, "it": {"f": "mezza", "m": "mezzo"},
    "nl": dict.fromkeys(("f", "n", "m"), "een halve"),
}  # fmt: skip
_NO_NOUNS = {
    "es": word_set(
        "para o u y e de del a al en con por es son está están que si no más menos el la los las un una "
        "tiene cuesta sale llega ya también como ni sobre desde hasta se le lo cada entre sin va queda "
        "abre cierra"
    ),
    "fr": word_set(
        "pour ou et de du des à au en avec par est sont que si non plus moins le la les un une coûte vaut "
        "puis sur sous dans ne se je il elle nous vous c bis ter"
    ),
    "it": word_set(
        "per o e di del da a al in con è sono che se non più meno il la lo gli le un una costa poi su tra "
        "fra si ci"
    ),
    "pt": word_set(
        "para ou e de do da a ao em com por é são que se não mais menos o os as um uma custa depois"
    ),
}
"""Words after a number that are not counted by it."""
_NAMED_BY_NUMBER = word_set(
    "habitación mesa planta puerta sala número opción línea autobús página piso terminal andén capítulo "
    "nivel zona chambre table étage quai voie ligne porte page numéro tapez option camera tavolo piano "
    "binario linea uscita pagina prema opzione digiti quarto mesa sala página tecle opção pulse pulsa "
    "marque elija opción zimmer tisch raum gleis bus linie seite nummer tür haus taste die der"
)
"""Words whose number counts nothing: "la mesa 1 tiene vistas"."""
_TERM_FOLLOWS = re.compile(
    r"[ ]?(?:[-+−=^²]|\*[ ]?\d|/(?!(?:day|night|week|wk|month|mo|year|yr|hour|hr|Tag|Woche|día|semana)\b))"
)
_TERM_PRECEDES = re.compile(r"(?:[+=]|\w[*(]|[-−*](?=[ ])|(?<!\d)[-−])[ ]?$")
"""Signs around an unknown ("2x + 3x", "f(2x)"), which has no range ("2-3x a week")."""
_PART_OF_UNIT = re.compile(r"[ ](?:of[ ]an?|inch|second|mile)\b")
"""Words after a part that is no score: "3/100 of a second"."""


def _read_percent(match: re.Match[str], language: Language) -> str | None:
    words = number_words(match["amount"], language)
    return f"{words} {language.signs['%']}" if words and "%" in language.signs else None


def _read_scaled(match: re.Match[str], language: Language) -> str:
    kind = match["scale"] == "K" and len(match["amount"]) == 1  # "a 4K display", "a 5K run"
    kind = kind or bool(re.match(r"[ ](?:run|race|walk|runner)s?\b", text_after(match, 9)))
    return f"{number_words(match['amount'], language)} {'K' if kind else _SCALES[match['scale']]}"


def _read_english_fraction(match: re.Match[str], language: Language) -> str | None:
    top, bottom = (int(part) for part in _VULGAR.get(match["part"], match["part"]).split("/"))
    if not 0 < top < bottom or not (bottom <= 10 or bottom in _SMALL_PARTS):
        return None
    part_of_unit = _PART_OF_UNIT.match(text_after(match, 10))
    if bottom >= 100 and top > 1 and not match["whole"] and not part_of_unit:  # a score
        return f"{in_words(top, language)} {_OUT_OF['en']} {in_words(bottom, language)}"
    one, many = _PARTS.get(bottom) or (in_words(bottom, language, "ordinal") or "",) * 2
    many = many if bottom in _PARTS else f"{many}s"
    if match["whole"]:
        part = f"{'an' if one[0] == 'e' else 'a'} {one}" if top == 1 else f"{in_words(top, language)} {many}"
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
        whole = counting_words(match["whole"].strip(" -"), language, "n" if language.code == "de" else gender)
        if after_whole[-5:] == "medio" and gender == "f":
            after_whole = f"{after_whole[:-1]}a"
        return f"{whole}{after_whole}"
    return _HALF_BEFORE_NOUN[language.code][gender] if part == "1/2" and noun else alone


def _read_lines(match: re.Match[str], language: Language) -> str:
    """Read the lines of a picture as people do: "ten eighty p"."""
    hundreds, rest = divmod(int(match["lines"]), 100)
    return f"{number_words(str(hundreds), language)} {number_words(str(rest), language)} p"


def _read_over(match: re.Match[str], language: Language) -> str | None:
    """Read a blood pressure: "120/80"."""
    over = {"en": "over", "de": "zu", "es": "sobre"}[language.code]
    first, second = int(match[1]), int(match[2])
    if not (70 <= first <= 250 and 40 <= second < first):
        return None
    unit = f" {language.units['mmHg'].many}" if match["unit"] else ""
    return f"{number_words(match[1], language)} {over} {number_words(match[2], language)}{unit}"


def _with_unit(
    read: Callable[[re.Match[str], Language], str | None],
) -> Callable[[re.Match[str], Language], str | None]:
    """Return a reader of a fraction and the unit after it: "1/4 lb"."""

    def read_with_unit(match: re.Match[str], language: Language) -> str | None:
        words = read(match, language)
        if not words or not match["unit"]:
            return words
        unit = language.units["in." if match["unit"] == '"' else match["unit"]]
        return f"{words} {unit.many if match['whole'] else unit.one}"

    return read_with_unit


def _read_equal(match: re.Match[str], language: Language) -> str | None:
    """Read "50/50", and "5/5" as a rating."""
    words = number_words(match[1], language)
    between = f" {_OUT_OF[language.code]} " if int(match[1]) <= 10 else " "
    return f"{words}{between}{words}"


def _read_out_of(match: re.Match[str], language: Language) -> str:
    """Read a rating: "4.5/5"."""
    first, last = number_words(match[1], language), number_words(match[2], language)
    return f"{first} {_OUT_OF[language.code]} {last}"


def _read_times(match: re.Match[str], language: Language) -> str | None:
    """Read "10x" as "ten times"; in an equation the letter is an unknown."""
    if _TERM_FOLLOWS.match(text_after(match, 8)) or _TERM_PRECEDES.search(text_before(match, 2)):
        return None
    if language.code == "de":
        return f"{'ein' if match[1] == '1' else number_words(match[1], language)}mal"
    one, many = {"en": ("time", "times"), "es": ("vez", "veces")}[language.code]
    return f"{counting_words(match[1], language, 'f')} {one if match[1] == '1' else many}"


def _read_ages(match: re.Match[str], language: Language) -> str | None:
    """Read "under-12s", "2x4s"."""
    if not re.search(r"\b(?:under|over)-$|\dx$", text_before(match, 8)):
        return None
    words = number_words(match[1], language) or ""
    return (
        f"{words.removesuffix('y')}ies"
        if words.endswith("y")
        else f"{words}{'es' if words[-1:] == 'x' else 's'}"
    )


def _read_around_the_clock(match: re.Match[str], language: Language) -> str:
    rest = number_words("365", language) if match[0].endswith("/365") else ""
    return f"{_AROUND_THE_CLOCK[language.code]} {rest}".strip()


def _read_german_decade(match: re.Match[str], language: Language) -> str | None:
    year = int(match["year"])
    words = in_words(year, language, "year" if year > 99 else "cardinal")
    return f"{words}{match['ending']}" if words else None


def _read_german_group(match: re.Match[str], language: Language) -> str:
    """Read a number with an ending: "2er", "3er-Zimmer"."""
    return f"{'ein' if match[1] == '1' else number_words(match[1], language)}er"


def _read_by(match: re.Match[str], language: Language) -> str:
    after = text_after(match, 24)
    multiplies = "=" in after or _MULTIPLIED.match(after)
    by = language.signs["×"] if multiplies else _BY[language.code]
    return f"{number_words(match[1], language)} {by}"


def _read_number(match: re.Match[str], language: Language) -> str | None:
    counts = language.code in ("de", "es", "fr", "it", "pt")
    noun = re.match(r"[ ]([^\W\d_]+)", text_after(match, 30)) if counts else None
    written = match[0]
    if noun is None or "," in written or word_before(match) in _NAMED_BY_NUMBER:
        return number_words(written, language)
    counted = noun[1]
    if language.code != "de":
        if counted in _NO_NOUNS[language.code] or not counted.islower():
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


WORD_RULES: tuple[Rule, ...] = (rule(r"x(?=[ ]?\d)", _read_by_of_lengths, *_BY),)
"""The rules for letters among figures: the "x" in "4 m x 5 m"."""


def quantity_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for numbers in words; the rule for plain numbers is the last."""
    amount = rf"(?P<amount>{number_pattern(language)})"
    symbols = sorted(language.units, key=len, reverse=True)
    inch = r"\"(?=[ ][a-z])|" if "in." in language.units else ""
    fraction = (
        r"(?P<whole>\d+[ -](?=\d{1,2}/)|\d+[ ]?(?=[½⅓⅔¼¾⅛]))?"
        r"(?P<part>(?<!/)\d{1,2}/\d{1,4}(?![\d/]|[ ]?=)|[½⅓⅔¼¾⅛])"
        rf"(?:[ ]?(?P<unit>{inch}{'|'.join(re.escape(symbol) for symbol in symbols) or '(?!)'})(?![\w'’])"
        rf"{stop_pattern(language)})?"
    )
    rating = rf"(\d{language.decimal}\d)/(\d{{1,2}})(?![\d/])"
    return (
        rule(r"(?P<lines>480|576|720|1080|1440|2160|4320)p\b", _read_lines, "en"),
        rule(rf"{amount}[ \u00a0\u202f]?%", _read_percent),
        rule(rf"{amount}(?P<scale>[kKM]|[bm]n)(?![\w'’])", _read_scaled, "en"),
        *(rule(r"24/7\b(?:/365\b)?", _read_around_the_clock, code) for code in _AROUND_THE_CLOCK),
        *(rule(r"(\d{1,3})/\1(?![\d/])", _read_equal, code) for code in _OUT_OF),
        *(rule(rating, _read_out_of, code) for code in _OUT_OF),
        *(rule(r"(\d{1,4}(?:[.,]\d{1,2})?)[ ]?[x×](?=[ ]?\d)", _read_by, code) for code in _BY),
        rule(r"(\d{2,3})/(\d{2,3})(?![\d/])(?P<unit>[ ]?mmHg\b)?", _read_over, "en", "de", "es"),
        rule(
            rf"(\d{{1,3}}(?:{language.decimal}\d)?)[ ]?(?:x\b(?![ ]?\d)|×(?=/))",
            _read_times,
            "en",
            "de",
            "es",
        ),
        rule(r"(\d{1,3})X(?=[ ](?:the|a|as|per|more|less|[a-z]+er)\b)", _read_times, "en"),
        rule(r"(\d{1,2})s\b", _read_ages, "en"),
        rule(r"(?P<year>(?:1[1-9]|20)?[2-9]0)(?P<ending>ern?)\b", _read_german_decade, "de"),
        rule(r"(\d{1,2})er\b", _read_german_group, "de"),
        rule(fraction, _with_unit(_read_english_fraction), "en"),
        *(rule(fraction, _with_unit(_read_fraction), code) for code in _FRACTIONS),
        rule(number_pattern(language), _read_number),
    )
