"""What the rules need to know of a language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """How a language writes numbers, and what it calls signs; what is missing is left as it is written.

    code: ISO 639. group, decimal: regular expressions of what separates thousands, and decimals.
    point: the decimal separator's name. signs: names of signs. hour: what is said between hour and minutes.
    currencies: what one is, and the name of many.
    """

    code: str
    group: str = ","
    decimal: str = r"\."
    point: str = ""
    hour: str = ""
    signs: Mapping[str, str] = field(default_factory=dict)
    currencies: Mapping[str, tuple[str, str]] = field(default_factory=dict)


_SPACE = "[\u00a0\u202f ]"
_LANGUAGES = {
    language.code: language
    for language in (
        Language(
            "en",
            point="point",
            signs={
                "%": "percent", "&": "and", "@": "at", ".": "dot", "/": "slash", "-": "dash",
                "_": "underscore", ":": "colon", "+": "plus", "=": "equals", "×": "times",
                "÷": "divided by", "±": "plus or minus", "−": "minus", "°": "degrees", "§": "section",
                "→": "to", "≈": "about", "≤": "at most", "≥": "at least", "<": "less than",
                ">": "more than", "~": "about", "#": "number", "–": "to",
            },
            currencies={
                "$": ("one dollar", "dollars"), "€": ("one euro", "euros"), "£": ("one pound", "pounds"),
                "¥": ("one yen", "yen"), "₹": ("one rupee", "rupees"), "₩": ("one won", "won"),
            },
        ),
        Language(
            "de", r"\.", ",", "Komma", "Uhr",
            {
                "%": "Prozent", "&": "und", "@": "ät", ".": "Punkt", "/": "Schrägstrich", "-": "Strich",
                "_": "Unterstrich", ":": "Doppelpunkt", "+": "plus", "=": "gleich", "−": "minus",
                "°": "Grad", "×": "mal", "–": "bis", "#": "Nummer",
            },
            {"€": ("ein Euro", "Euro"), "$": ("ein Dollar", "Dollar"), "£": ("ein Pfund", "Pfund")},
        ),
        Language(
            "fr", _SPACE, ",", "virgule", "heures",
            {
                "%": "pour cent", "&": "et", "@": "arobase", ".": "point", "/": "slash", "-": "tiret",
                "_": "tiret bas", ":": "deux-points", "+": "plus", "=": "égale", "−": "moins",
                "°": "degrés", "×": "fois", "–": "à", "#": "numéro",
            },
            {"€": ("un euro", "euros"), "$": ("un dollar", "dollars"), "£": ("une livre", "livres")},
        ),
        Language(
            "es", r"\.", ",", "coma", "",
            {
                "%": "por ciento", "&": "y", "@": "arroba", ".": "punto", "/": "barra", "-": "guion",
                "_": "guion bajo", ":": "dos puntos", "+": "más", "=": "igual a", "−": "menos",
                "°": "grados", "×": "por", "–": "a", "#": "número",
            },
            {"€": ("un euro", "euros"), "$": ("un dólar", "dólares"), "£": ("una libra", "libras")},
        ),
        Language(
            "it", r"\.", ",", "virgola", "",
            {
                "%": "per cento", "&": "e", "@": "chiocciola", ".": "punto", "/": "barra", "-": "trattino",
                "_": "trattino basso", ":": "due punti", "+": "più", "=": "uguale", "−": "meno",
                "°": "gradi", "×": "per", "–": "a", "#": "numero",
            },
            {"€": ("un euro", "euro"), "$": ("un dollaro", "dollari"), "£": ("una sterlina", "sterline")},
        ),
        Language(
            "pt", r"\.", ",", "vírgula", "",
            {
                "%": "por cento", "&": "e", "@": "arroba", ".": "ponto", "/": "barra", "-": "hífen",
                "_": "sublinhado", ":": "dois pontos", "+": "mais", "=": "igual a", "−": "menos",
                "°": "graus", "×": "vezes", "–": "a", "#": "número",
            },
            {"€": ("um euro", "euros"), "$": ("um dólar", "dólares"), "£": ("uma libra", "libras")},
        ),
        Language(
            "nl", r"\.", ",", "komma", "uur",
            {
                "%": "procent", "&": "en", "@": "apenstaartje", ".": "punt", "/": "schuine streep",
                "-": "streepje", "_": "liggend streepje", ":": "dubbele punt", "+": "plus", "=": "is",
                "−": "min", "°": "graden", "×": "keer", "–": "tot", "#": "nummer",
            },
            {"€": ("één euro", "euro"), "$": ("één dollar", "dollar"), "£": ("één pond", "pond")},
        ),
    )
}  # fmt: skip
_DECIMAL_COMMA_AFTER_POINTS = ("da", "id", "ro", "sl", "sr", "tr", "vi")
_DECIMAL_COMMA_AFTER_SPACES = ("bg", "cs", "fi", "hu", "lt", "lv", "no", "pl", "ru", "sk", "sv", "uk")


@cache
def find_language(code: str) -> Language:
    """What is known of a language by its ISO 639 code."""
    if code in _LANGUAGES:
        return _LANGUAGES[code]
    if code in _DECIMAL_COMMA_AFTER_POINTS:
        return Language(code, r"\.", ",")
    if code in _DECIMAL_COMMA_AFTER_SPACES:
        return Language(code, _SPACE, ",")
    return Language(code)
