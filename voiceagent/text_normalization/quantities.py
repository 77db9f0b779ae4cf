"""Numbers and what is counted: money, percentages, units, fractions, ordinals, telephone numbers, signs."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, in_words, number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule

_SCALES = {"k": "thousand", "K": "thousand", "M": "million", "m": "million", "bn": "billion", "B": "billion"}
_CENTS = {"$": ("cent", "cents"), "€": ("cent", "cents"), "£": ("penny", "pence")}
_UNITS = {
    "km/h": ("kilometer per hour", "kilometers per hour"), "mph": ("mile per hour", "miles per hour"),
    "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "m²": ("square meter", "square meters"),
    "m2": ("square meter", "square meters"), "m": ("meter", "meters"),
    "sq ft": ("square foot", "square feet"), "sq. ft.": ("square foot", "square feet"),
    "ft": ("foot", "feet"), "mi": ("mile", "miles"), "yd": ("yard", "yards"),
    "kg": ("kilogram", "kilograms"), "g": ("gram", "grams"), "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"),
    "l": ("liter", "liters"), "L": ("liter", "liters"), "ml": ("milliliter", "milliliters"),
    "mL": ("milliliter", "milliliters"), "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"), "°": ("degree", "degrees"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"), "KB": ("kilobyte", "kilobytes"), "MB": ("megabyte", "megabytes"),
    "GB": ("gigabyte", "gigabytes"), "TB": ("terabyte", "terabytes"),
    "Mbps": ("megabit per second", "megabits per second"), "W": ("watt", "watts"),
    "kW": ("kilowatt", "kilowatts"), "kWh": ("kilowatt hour", "kilowatt hours"), "V": ("volt", "volts"),
    "ms": ("millisecond", "milliseconds"), "s": ("second", "seconds"), "sec": ("second", "seconds"),
    "min": ("minute", "minutes"), "mins": ("minute", "minutes"), "h": ("hour", "hours"),
    "hr": ("hour", "hours"), "hrs": ("hour", "hours"),
}  # fmt: skip
_PARTS = {2: ("half", "halves"), 4: ("quarter", "quarters")}
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅛": "1/8"}


def _read_money(match: re.Match[str], language: Language) -> str | None:
    sign, amount, scale = match["sign"], match["amount"], match["scale"]
    if sign not in language.currencies:
        return None
    one, many = language.currencies[sign]
    if scale:
        scale = _SCALES.get(scale, scale)
        return f"{number_words(amount, language)} {scale} {many}"
    whole, *cents = re.split(language.decimal, amount)
    if not cents or not int(cents[0]) or len(cents[0]) != 2:
        exact = whole if not cents or not int(cents[0]) else amount
        return one if exact == "1" else f"{number_words(exact, language)} {many}"
    whole_words = one if whole == "1" else f"{number_words(whole, language)} {many}"
    cents_words = in_words(int(cents[0]), language)
    if language.code != "en" or sign not in _CENTS:
        return f"{whole_words} {cents_words}"
    cents_words = f"{cents_words} {_CENTS[sign][int(cents[0]) != 1]}"
    return cents_words if int(re.sub(r"\D", "", whole)) == 0 else f"{whole_words} and {cents_words}"


def _read_percent(match: re.Match[str], language: Language) -> str | None:
    words = number_words(match["amount"], language)
    return f"{words} {language.signs['%']}" if words and "%" in language.signs else None


def _read_unit(match: re.Match[str], language: Language) -> str:
    one, many = _UNITS[match["unit"]]
    return f"{number_words(match['amount'], language)} {one if match['amount'] == '1' else many}"


def _read_scaled(match: re.Match[str], language: Language) -> str:
    return f"{number_words(match['amount'], language)} {_SCALES[match['scale']]}"


def _read_feet(match: re.Match[str], language: Language) -> str:
    return f"{number_words(match[1], language)} foot {number_words(match[2], language)}"


def _read_ordinal(match: re.Match[str], language: Language) -> str | None:
    return in_words(int(re.sub(r"\D", "", match["amount"])), language, "ordinal")


def _read_fraction(match: re.Match[str], language: Language) -> str | None:
    top, bottom = (int(part) for part in _VULGAR.get(match["part"], match["part"]).split("/"))
    if not (0 < top < bottom <= 10):
        return None
    one, many = _PARTS.get(bottom) or (in_words(bottom, language, "ordinal") or "",) * 2
    many = many if bottom in _PARTS else f"{many}s"
    if match["whole"]:
        part = f"a {one}" if top == 1 else f"{in_words(top, language)} {many}"
        return f"{number_words(match['whole'].strip(), language)} and {part}"
    return f"{in_words(top, language)} {one if top == 1 else many}"


def _read_number(match: re.Match[str], language: Language) -> str | None:
    return number_words(match[0], language)


def _read_point(match: re.Match[str], language: Language) -> str | None:
    after = digit_words(match[0], language)
    return f"{language.point} {after}" if language.point and after else None


def _as_written(match: re.Match[str], _: Language) -> str:
    return match[0]


def quantity_rules(language: Language) -> tuple[Rule, ...]:
    """The rules of a language whose numbers have words, the plain number last."""
    amount = rf"(?P<amount>{number_pattern(language)})"
    units = "|".join(re.escape(unit) for unit in sorted(_UNITS, key=len, reverse=True))
    return (
        rule(
            rf"(?P<sign>[$€£¥₹₩])[ ]?{amount}"
            r"(?:[ ]?(?P<scale>thousand|million|billion|trillion|[kKMmB]|bn)(?![\w'’]))?",
            _read_money,
        ),
        rule(rf"{amount}(?P<scale>(?!))?[ \u00a0\u202f]?(?P<sign>[$€£¥₹₩])(?!\d)", _read_money),
        rule(rf"{amount}[ \u00a0\u202f]?%", _read_percent),
        rule(rf"{amount}[ ]?(?P<unit>{units})(?![\w'’])(?:\.(?=[,;:]|[ ][a-z]))?", _read_unit, "en"),
        rule(rf"{amount}(?P<scale>[kKM])(?![\w'’])", _read_scaled, "en"),
        rule(r"(\d)['′](\d{1,2})[\"″]", _read_feet, "en"),
        rule(rf"{amount}(?:st|nd|rd|th)\b", _read_ordinal, "en"),
        rule(r"(?P<amount>\d+)(?:er|re|e|ème)\b", _read_ordinal, "fr"),
        rule(r"(?P<amount>\d+)\.?[ºª]", _read_ordinal, "es", "it", "pt"),
        rule(r"\d{1,2}\.(?=[ ]\w)", _as_written, "de"),
        rule(r"24/7\b", lambda match, _: "twenty-four seven", "en"),
        rule(
            r"(?P<whole>\d+[ ](?=\d+/)|\d+(?=[½⅓⅔¼¾⅛]))?(?P<part>\d{1,2}/\d{1,2}(?![\d/])|[½⅓⅔¼¾⅛])",
            _read_fraction,
            "en",
        ),
        rule(r"(?<![\w.])\.\d+", _read_point),
        rule(number_pattern(language), _read_number),
    )
