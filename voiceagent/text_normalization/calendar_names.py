"""Names of months and weekdays, and how they are abbreviated."""

from __future__ import annotations

MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(),
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split(),
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
    .split(),
    "nl": "januari februari maart april mei juni juli augustus september oktober november december".split(),
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro".split(),
}  # fmt: skip
DAYS = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split(),
    "es": "lunes martes miércoles jueves viernes sábado domingo".split(),
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche".split(),
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica".split(),
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag".split(),
}
_SHORT_DAYS = {
    "en": "Mon Tue Wed Thu Fri Sat Sun",
    "de": "Mo Di Mi Do Fr Sa So",
    "es": "lun mar mié jue vie sáb dom",
    "fr": "lun mar mer jeu ven sam dim",
    "it": "lun mar mer gio ven sab dom",
    "nl": "ma di wo do vr za zo",
}
_MORE_SHORT_DAYS = {
    "en": {"Tues": 1, "Weds": 2, "Thur": 3, "Thurs": 3},
    "es": {"mie": 2, "sab": 5},
}
INITIALS = {"es": "LMXJVSD"}
"""Weekdays as single letters, in ranges only: "L-V"."""
UNTIL = {
    "en": ("to", "to|until|through|thru|till"), "de": ("bis", "bis"), "es": ("a", "a"), "fr": ("à", "à|au"),
    "it": ("a", "a"), "nl": ("tot", "tot|t/m"),
}  # fmt: skip
"""The word between the ends of a range as it is spoken, and as it may be written."""


def short_days(language: str) -> dict[str, str]:
    """Return the abbreviations of weekdays, without full stops, and the names."""
    names = DAYS.get(language, [])
    short = dict(zip(_SHORT_DAYS.get(language, "").split(), names, strict=True))
    more = {each: names[day] for each, day in _MORE_SHORT_DAYS.get(language, {}).items()}
    lower = short | more
    return lower | {each[0].upper() + each[1:]: name for each, name in lower.items()}


def short_months(language: str) -> dict[str, int]:
    """Return the abbreviations of months, without full stops, and the months' numbers."""
    short: dict[str, int] = {}
    for number, name in enumerate(MONTHS.get(language, []), 1):
        if len(name) > 4:
            short |= {name[:3]: number} | ({name[:4]: number} if name.lower().startswith("sept") else {})
    return short
