"""Agreement of numbers with the nouns they count: "eine Nacht", "veintiuna habitaciones"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Gender, Language, word_set
from voiceagent.text_normalization.numbers import number_words

_GERMAN_ONE = {
    "nominative": {"m": "ein", "f": "eine", "n": "ein"},
    "accusative": {"m": "einen", "f": "eine", "n": "ein"},
    "dative": {"m": "einem", "f": "einer", "n": "einem"},
}
_GERMAN_CASES = {
    **dict.fromkeys(word_set("für um ohne gegen habe haben hat gibt es noch nur sie"), "accusative"),
    **dict.fromkeys(word_set("in seit vor nach mit von aus bei zu ab binnen"), "dative"),
}
"""Grammatical case of the counted noun, by the word before the number."""
_GERMAN_MASCULINE = re.compile(
    r"(?:Tag|Monat|Gast|Platz|Tisch|Termin|Stuhl|Artikel|Abend|Morgen|Kaffee|Tee|Teller|Liter|Meter|Kilometer"
    r"|Euro|Dollar|Punkt|Schritt|[Ss]uch|Stock|Koffer|Hund|Becher|Löffel|Anruf|Flug|Zug|Bus|Raum|Erwachsener)$"
)
_GERMAN_FEMININE = re.compile(
    r"(?:ung|heit|keit|ion|tät|schaft|nacht|person|tür|karte|fahrt|etage|nummer|möglichkeit"
    r"|(?<!nam)(?<!käs)(?<!jung)(?<!kund)(?<!gebäud)(?<!geländ)e)$",
    re.IGNORECASE,
)
_SPANISH_FEMININE = re.compile(
    r"(?:as?|ci[oó]n(?:es)?|si[oó]n(?:es)?|dad(?:es)?|tud(?:es)?|noches?|tardes?|llaves?|clases?|calles?|mujer(?:es)?"
    r"|veces|vez)$"
)
_SPANISH_MASCULINE = re.compile(r"(?:d[ií]as?|mapas?|(?:problem|program|sistem|tem|idiom|clim|fantasm)as?)$")
_FEMININE = {
    "es": _SPANISH_FEMININE,
    "fr": re.compile(
        r"(?:[tsx]ions?|tés?|ées?|ies?|ures?|ances?|ences?|ettes?|elles?|esses?|aines?|ines?|ades?|nuits?|personnes?"
        r"|chambres?|heures?|minutes?|secondes?|places?|tables?|fois|pages?|portes?|clés?|cartes?|valises?|tasses?"
        r"|tonnes?|livres?|femmes?|filles?|pommes?|bouteilles?|étoiles?|question|option)$"
    ),
    "it": re.compile(r"(?:a|zione|sione|tà|notte|chiave|parte|voce|moglie)$"),
    "pt": re.compile(r"(?:as?|[çs]ão|[çs]ões|dades?|noites?|vez(?:es)?|chaves?|partes?)$"),
}
_MASCULINE = {
    "es": _SPANISH_MASCULINE,
    "fr": re.compile(r"(?:étés?|côtés?|comités?|mètres?)$"),
    "it": re.compile(r"(?:[bd]lema|gramma|tema|clima)$"),
    "pt": re.compile(r"(?:dias?|mapas?|[mt]emas?|gramas?)$"),
}
_FEMININE_ONE = {"fr": ("un", "une"), "it": ("un", "una"), "pt": ("um", "uma"), "nl": ("één", "één")}


def noun_gender(noun: str, language: Language) -> Gender:
    """Return the likely gender of a noun, from its ending."""
    if language.code == "de":
        if _GERMAN_MASCULINE.search(noun) or _GERMAN_MASCULINE.search(noun.capitalize()):
            return "m"
        return "f" if _GERMAN_FEMININE.search(noun) else "n"
    if language.code not in _FEMININE:
        return "m"
    feminine = _FEMININE[language.code].search(noun) and not _MASCULINE[language.code].search(noun)
    return "f" if feminine else "m"


def counting_words(written: str, language: Language, gender: Gender, before: str = "") -> str | None:
    """Return a number's words before a noun of a gender. before: the word before the number, lower case."""
    words = number_words(written, language)
    if words is None:
        return None
    if language.code == "es":
        return _spanish(words, gender)
    if written == "1" and language.code == "de":
        return _GERMAN_ONE[_GERMAN_CASES.get(before, "nominative")][gender]
    if written == "1" and language.code in _FEMININE_ONE:
        return _FEMININE_ONE[language.code][gender == "f"]
    if gender == "f" and language.code == "fr":
        return re.sub(r"\bun$", "une", words)
    if gender == "f" and language.code == "pt":
        return re.sub(r"um$", "uma", re.sub(r"dois$", "duas", words))
    return words


def _spanish(words: str, gender: Gender) -> str:
    if gender == "f":
        words = re.sub(r"cientos\b", "cientas", words)
        words = words.replace("quinientos", "quinientas")
        return re.sub(r"uno$", "una", words)
    return re.sub(r"uno$", "un", re.sub(r"veintiuno$", "veintiún", words))
