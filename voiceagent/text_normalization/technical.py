"""Paths of files, IPv6 addresses, passwords, fiscal years, and the simple formulas of TeX."""

from __future__ import annotations

import re

from voiceagent.text_normalization.code_labels import label_of
from voiceagent.text_normalization.dates import year_words
from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import digit_words, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_before

_PIECE = re.compile(r"[^\W\d_]+|\d+|.")
_BACKSLASH = {"es": "barra invertida", "fr": "antislash", "it": "barra rovesciata", "pt": "barra invertida"}
_MARKS = {
    "en": {"!": "exclamation mark", "?": "question mark", "*": "star", "$": "dollar", "#": "hash"},
    "de": {"!": "Ausrufezeichen", "?": "Fragezeichen", "*": "Stern", "$": "Dollar", "#": "Raute"},
    "es": {"!": "exclamación", "?": "interrogación", "*": "asterisco", "$": "dólar", "#": "almohadilla"},
    "fr": {"!": "point d'exclamation", "?": "point d'interrogation", "*": "étoile", "$": "dollar"},
    "it": {"!": "punto esclamativo", "?": "punto interrogativo", "*": "asterisco", "$": "dollaro"},
    "nl": {"!": "uitroepteken", "?": "vraagteken", "*": "sterretje", "$": "dollar", "#": "hekje"},
    "pt": {"!": "exclamação", "?": "interrogação", "*": "asterisco", "$": "cifrão"},
}
"""Names of the marks of a password, where they differ from the signs of other text."""
_PASSWORD = re.compile(
    r"\b(?:pass(?:word|code|wort|e)|kennwort|contraseña|wachtwoord|senha)\b[^.!?]{0,24}$", re.IGNORECASE
)
_ENDINGS = (
    "pdf|docx?|xlsx?|csv|txt|rtf|pptx?|jpe?g|png|gif|svg|webp|heic|mp[34]|wav|mov|zip|exe|dmg|html?|css|jsx?|tsx?|py"
    "|json|ya?ml|toml|xml|ini|log|env|gitignore|bashrc|zshrc|com|org|net|edu|gov|io|ai|app|dev|info|biz|co"
)
"""Endings of files and domains that are named alone: "a .pdf file"."""
_SIGNS = r"!?*$\#%&@+=^"


def _read_path(match: re.Match[str], language: Language) -> str | None:
    """Read all signs of a path: "slash etc slash hosts", "C colon backslash Users"."""
    backslash = _BACKSLASH.get(language.code, "backslash")
    words = [
        backslash if piece == "\\" else _read_piece(piece, language) for piece in _PIECE.findall(match[0])
    ]
    return " ".join(filter(None, words))


def _read_piece(piece: str, language: Language) -> str:
    if piece.isdecimal():
        words = number_words(piece, language) if len(piece) < 3 else digit_words(piece, language)
        return words or piece
    return piece if piece.isalpha() else "tilde" if piece == "~" else language.signs.get(piece, "")


def _read_hexadecimal(match: re.Match[str], language: Language) -> str:
    """Read the figures and letters of an address or a hash one by one; a colon between pairs is a pause."""
    words = [
        digit_words(each, language) or each if each.isdecimal() else "," if each == ":" else each.upper()
        for each in match[0]
    ]
    return " ".join(words).replace(" ,", ",")


def _read_aircraft(match: re.Match[str], language: Language) -> str | None:
    """Read "A380" as people do: "A three eighty"."""
    if label_of(text_before(match), "", language) in ("code", "reference"):
        return None
    variant = f" {number_words(match[2][1:], language)}" if match[2] else ""
    if language.code != "en":
        return f"A {number_words(match[1], language)}{variant}"
    rest = number_words(match[1][1:], language) or ""
    rest = f"{rest.removesuffix('y')}ies" if match[3] else rest
    return f"A {number_words(match[1][0], language)} {rest}{variant}"


def _read_ipv6(match: re.Match[str], language: Language) -> str:
    words = [
        digit_words(each, language) or each if each.isdecimal() else language.signs.get(each, each.upper())
        for each in match[0]
    ]
    return " ".join(words)


def _read_password(match: re.Match[str], language: Language) -> str | None:
    """Read a password after its label: figures one by one, marks by their names."""
    if not _PASSWORD.search(text_before(match, 40)):
        return None
    marks = _MARKS.get(language.code, {})
    words = [
        " ".join(digit_words(each, language) or each for each in piece)
        if piece.isdecimal()
        else marks.get(piece) or _read_piece(piece, language)
        for piece in _PIECE.findall(match[0])
    ]
    return " ".join(filter(None, words))


def _read_fiscal_year(match: re.Match[str], language: Language) -> str:
    year = match[1]
    return f"fiscal year {year_words(int(year), language) if len(year) > 2 else number_words(year, language)}"


RULES: tuple[Rule, ...] = (
    rule(r"FY[ ]?((?:20)?\d\d)(?!\w)", _read_fiscal_year, "en"),
    rule(r"[A-Za-z]:\\(?:[\w.-]+\\){0,12}[\w.-]*\w", _read_path),
    rule(
        r"(?=[\da-fA-F:]{2,39}::|(?:[\da-fA-F]{1,4}:){7}[\da-fA-F])[\da-fA-F]{1,4}"
        r"(?:::?[\da-fA-F]{1,4}){1,7}(?![\w:])",
        _read_ipv6,
    ),
    rule(r"0x[\da-fA-F]{2,16}(?!\w)", _read_hexadecimal),
    rule(r"[\da-fA-F]{2}(?::[\da-fA-F]{2}){5}(?![\w:])", _read_hexadecimal),
    rule(
        r"(?=[\da-f]{0,39}\d[a-f])(?=[\da-f]{0,39}[a-f]\d)(?=[\da-f]{0,39}\d[\da-f]{0,39}\d)[\da-f]{7,40}(?!\w)",
        _read_hexadecimal,
    ),
    rule(r"A(3[0-8]0)(?:(-\d{3})|(s))?(?=neo\b|ceo\b|(?!\w)(?!-))", _read_aircraft),
    rule(
        rf"(?=[^\s\d]{{0,40}}\d)(?=[\w-]{{1,40}}[{_SIGNS}][\w{_SIGNS}])[\w{_SIGNS}-]{{1,40}}[^\W_]",
        _read_password,
    ),
)
"""Rules for what begins with a letter or a figure."""
SIGN_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w/.<])~?(?:/[\w.-]*\w){2,12}(?![\w/])(?<=[A-Za-z\d])", _read_path),
)
"""Rules for what begins with another sign."""
DOT_RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(?:\.{1,2}/)+[\w.-]*\w(?:/[\w.-]*\w){0,12}", _read_path),
    rule(r"(?<![\w.])\.(?=(?:NET|Net)\b)", lambda _, language: language.signs.get(".")),
    rule(rf"(?<![\w.)])\.(?=(?:{_ENDINGS})\b(?!\.?\w))", lambda _, language: language.signs.get(".")),
)
"""Rules for what begins with a full stop."""
