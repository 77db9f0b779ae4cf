"""Units of measure, and how a number of them is said."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import Gender, counting_words
from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import number_pattern
from voiceagent.text_normalization.rules import Rule, rule, text_after, text_before, word_before

_NAMES = """
km/h      | kilometer per hour, kilometers per hour | Kilometer pro Stunde m   | kilómetro por hora, kilómetros por hora m
mph       | mile per hour, miles per hour           | Meile pro Stunde, Meilen pro Stunde f | milla por hora, millas por hora f
km        | kilometer, kilometers                   | Kilometer m              | kilómetro, kilómetros m
cm        | centimeter, centimeters                 | Zentimeter m             | centímetro, centímetros m
mm        | millimeter, millimeters                 | Millimeter m             | milímetro, milímetros m
m² m2 qm  | square meter, square meters             | Quadratmeter m           | metro cuadrado, metros cuadrados m
m³ m3     | cubic meter, cubic meters               | Kubikmeter m             | metro cúbico, metros cúbicos m
m         | meter, meters                           | Meter m                  | metro, metros m
sqft sq_ft sq._ft. | square foot, square feet       | Quadratfuß m             | pie cuadrado, pies cuadrados m
ft        | foot, feet                              | Fuß m                    | pie, pies m
mi        | mile, miles                             | Meile, Meilen f          | milla, millas f
yd yds    | yard, yards                             | Yard, Yards n            | yarda, yardas f
kg        | kilogram, kilograms                     | Kilogramm n              | kilogramo, kilogramos m
mg        | milligram, milligrams                   | Milligramm n             | miligramo, miligramos m
mcg µg    | microgram, micrograms                   | Mikrogramm n             | microgramo, microgramos m
g gr      | gram, grams                             | Gramm n                  | gramo, gramos m
lb lbs    | pound, pounds                           | Pfund n                  | libra, libras f
oz        | ounce, ounces                           | Unze, Unzen f            | onza, onzas f
ml mL     | milliliter, milliliters                 | Milliliter m             | mililitro, mililitros m
l L       | liter, liters                           | Liter m                  | litro, litros m
°C        | degree Celsius, degrees Celsius         | Grad Celsius m           | grado Celsius, grados Celsius m
°F        | degree Fahrenheit, degrees Fahrenheit   | Grad Fahrenheit m        | grado Fahrenheit, grados Fahrenheit m
°         | degree, degrees                         | Grad m                   | grado, grados m
Hz        | hertz                                   | Hertz n                  | hercio, hercios m
kHz       | kilohertz                               | Kilohertz n              | kilohercio, kilohercios m
MHz       | megahertz                               | Megahertz n              | megahercio, megahercios m
GHz       | gigahertz                               | Gigahertz n              | gigahercio, gigahercios m
KB        | kilobyte, kilobytes                     | Kilobyte n               | kilobyte, kilobytes m
MB        | megabyte, megabytes                     | Megabyte n               | megabyte, megabytes m
GB        | gigabyte, gigabytes                     | Gigabyte n               | gigabyte, gigabytes m
TB        | terabyte, terabytes                     | Terabyte n               | terabyte, terabytes m
Mbps Mbit/s | megabit per second, megabits per second | Megabit pro Sekunde n  | megabit por segundo, megabits por segundo m
Gbps      | gigabit per second, gigabits per second | Gigabit pro Sekunde n    | gigabit por segundo, gigabits por segundo m
kWh       | kilowatt hour, kilowatt hours           | Kilowattstunde, Kilowattstunden f | kilovatio hora, kilovatios hora m
kW        | kilowatt, kilowatts                     | Kilowatt n               | kilovatio, kilovatios m
W         | watt, watts                             | Watt n                   | vatio, vatios m
V         | volt, volts                             | Volt n                   | voltio, voltios m
ms        | millisecond, milliseconds               | Millisekunde, Millisekunden f | milisegundo, milisegundos m
s sec secs Sek. Sek seg seg. | second, seconds      | Sekunde, Sekunden f      | segundo, segundos m
min mins Min. Min min. | minute, minutes            | Minute, Minuten f        | minuto, minutos m
h hr hrs Std. Std hrs. hr. | hour, hours            | Stunde, Stunden f        | hora, horas f
d         | day, days                               | Tag, Tage m              | día, días m
"""
"""Symbols, then one and many in English, German and Spanish, the last two with a gender. "_" is a blank."""
_CODES = ("en", "de", "es")
Unit = tuple[str, str, Gender]


def _read_names() -> dict[str, dict[str, Unit]]:
    units: dict[str, dict[str, Unit]] = {code: {} for code in _CODES}
    for line in _NAMES.strip().splitlines():
        symbols, *columns = (column.strip() for column in line.split("|"))
        for code, column in zip(_CODES, columns, strict=True):
            names, gender = (column, "n") if code == "en" else column.rsplit(" ", 1)
            one, many = names.split(", ") if ", " in names else (names, names)
            for symbol in symbols.split():
                units[code][symbol.replace("_", " ")] = one, many, gender  # type: ignore[assignment]
    return units


UNITS = _read_names()
_MINUTES_FOLLOW_HOURS = re.compile(r"\d\s?(?:h|hrs?|d|hours?|Std\.?|Stunden?|horas?),?\s?$")
_SECONDS_FOLLOW = re.compile(r"\s?\d{1,2}\s?s(?:ec)?\b")


def _read_unit(match: re.Match[str], language: Language) -> str | None:
    symbol = match["unit"]
    if symbol == "d" and not re.match(r"\s?\d{1,2}\s?h", text_after(match, 6)):
        return None
    minutes = symbol == "m" and (
        _MINUTES_FOLLOW_HOURS.search(text_before(match, 12)) or _SECONDS_FOLLOW.match(text_after(match, 8))
    )
    one, many, gender = UNITS[language.code]["min" if minutes else symbol]
    amount = counting_words(match["amount"], language, gender, word_before(match))
    name = one if match["amount"] == "1" else many
    return f"{amount} {name}" if amount else None


def _read_hours_and_minutes(match: re.Match[str], language: Language) -> str:
    parts = []
    for amount, symbol in ((match["hours"], "h"), (match["minutes"].lstrip("0"), "min")):
        one, many, gender = UNITS[language.code][symbol]
        if amount:
            words = counting_words(amount, language, gender, word_before(match))
            parts.append(f"{words} {one if amount == '1' else many}")
    return " ".join(parts)


def unit_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for numbers with units; none where the units' names are not known."""
    if language.code not in UNITS:
        return ()
    amount = rf"(?P<amount>{number_pattern(language)})"
    symbols = sorted(UNITS[language.code], key=len, reverse=True)
    units = "|".join(re.escape(symbol) for symbol in symbols)
    stop = r"(?:\.(?=[,;:]|[ ][a-z0-9]))?" if language.code != "de" else r"(?:\.(?=[,;:]|[ ][a-zäöü0-9]))?"
    return (
        rule(r"(?P<hours>\d{1,2})h[ ]?(?P<minutes>[0-5]\d)(?:m|min)?\b(?![:.]\d)", _read_hours_and_minutes),
        rule(rf"{amount}[ \u00a0\u202f-]?(?P<unit>{units})(?![\w'’]){stop}", _read_unit),
    )
