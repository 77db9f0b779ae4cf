"""Formulas: powers of ten, exponents, and the common commands of TeX."""

from __future__ import annotations

import re

from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, text_before

_OVER = {"en": "over", "de": "durch", "es": "sobre", "fr": "sur", "it": "su", "nl": "over", "pt": "sobre"}
_TEX_SIGNS = {
    "times": "×", "cdot": "×", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "pm": "±",
    "div": "÷", "approx": "≈", "infty": "∞", "pi": "π", "to": "→", "rightarrow": "→", "Rightarrow": "→",
    "sqrt": "√", "circ": "°",
}  # fmt: skip
_TEX_LAYOUT = (
    "text|textbf|textit|mathrm|mathbf|mathit|mathbb|mathcal|operatorname|boxed|left|right|displaystyle|quad|qquad"
    "|bigl?|bigr|Bigl?|Bigr|limits|overline|vec|hat|bar"
)
"""Commands that only change how a formula looks."""
_IN_FRACTION = re.compile(r"\\[dt]?frac\b")
_FORMULA = re.compile(r"\$(?=[^$]*[\\^=])[A-Za-z\\(\d][^$\n]*$")
"""The beginning of a formula in the marks of TeX, up to its end."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_POWERS = {
    "en": ("squared", "cubed", "to the power of"), "de": ("Quadrat", "hoch drei", "hoch"),
    "es": ("al cuadrado", "al cubo", "elevado a"), "fr": ("au carré", "au cube", "puissance"),
    "it": ("al quadrato", "al cubo", "alla potenza di"), "nl": ("kwadraat", "tot de derde", "tot de macht"),
    "pt": ("ao quadrado", "ao cubo", "elevado a"),
}  # fmt: skip


def closes_formula(before: str) -> bool:
    """Return True if a dollar sign after this text ends a formula: "$x = 4"."""
    return _FORMULA.search(before) is not None


def _read_formula_end(match: re.Match[str], _: Language) -> str | None:
    return "" if closes_formula(text_before(match)) else None


def _read_between_braces(match: re.Match[str], language: Language) -> str | None:
    over = _OVER.get(language.code, "/")
    return over if _IN_FRACTION.search(text_before(match)) else None


def _read_tex_sign(match: re.Match[str], language: Language) -> str | None:
    return language.signs.get(_TEX_SIGNS[match[1]])


def _read_power(match: re.Match[str], language: Language) -> str | None:
    exponent = match["exponent"].translate(_SUPERSCRIPTS)
    squared, cubed, power = _POWERS[language.code]
    if words := {"2": squared, "3": cubed}.get(exponent):
        return words
    negative, base = exponent.startswith("-"), exponent.lstrip("-")
    words = number_words(base, language) if base.isdecimal() else base
    sign = f"{language.signs.get('−')} " if negative else ""
    unit = language.units.get(match.groupdict().get("unit") or "")
    return f"{power} {sign}{words}{f' {unit.many}' if unit else ''}"


def _read_power_of_ten(match: re.Match[str], language: Language) -> str:
    """Read "6.02e23"."""
    times, (_, _, power) = language.signs["×"], _POWERS[language.code]
    sign = f"{language.signs.get('−')} " if match["sign"] == "-" else ""
    exponent = number_words(match["exponent"], language)
    ten = number_words("10", language)
    return f"{number_words(match['amount'], language)} {times} {ten} {power} {sign}{exponent}"


def figure_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for formulas that begin with a figure."""
    if language.code not in _POWERS:
        return ()
    point = rf"\d+{language.decimal}\d+"
    return (
        rule(
            rf"(?P<amount>{point}(?=[eE][+-]?\d)|{number_pattern(language)}(?=[eE][+-]\d))"
            r"[eE](?P<sign>[+-]?)(?P<exponent>\d{1,3})(?!\w)",
            _read_power_of_ten,
        ),
    )


def power_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for exponents: "5²", "x^2", "10^8 m/s"."""
    if language.code not in _POWERS:
        return ()
    units = "|".join(re.escape(unit) for unit in sorted(language.units, key=len, reverse=True)) or "(?!)"
    unit = rf"(?:(?<=\d)[ ](?P<unit>{units})(?![\w'’]))?"
    return (
        rule(r"(?P<exponent>[⁻⁰¹²³⁴-⁹]+)", _read_power),
        rule(rf"(?<=[\d)])\^\{{?(?P<exponent>-?\d+)\}}?(?![\w^]){unit}", _read_power),
        rule(r"(?<=[\w)}])\^\{?(?P<exponent>-?(?:\d+|[a-z]))\}?(?![\w^])", _read_power),
    )


SIGN_RULES: tuple[Rule, ...] = (
    rule(r"\$\$", lambda match, _: ""),
    rule(r"\$([A-Za-z])\$(?!\w)", lambda match, _: match[1]),
    rule(
        r"\$(?=(?:[A-Za-z(][^$\n]{0,80}?[\\^=]|\\[a-z(])[^$\n]{0,160}\$"
        r"|\d[^$\n]{0,80}?[\\^=][^$\n]{0,80}(?<!\s)\$(?!\w))",
        lambda match, _: "",
    ),
    rule(r"\$(?!\w)", _read_formula_end),
    rule(r"\\[dt]?frac\{", lambda match, _: " "),
    rule(r"\}\{", _read_between_braces),
    rule(r"(?<=\b[a-z\d][ ])[<>](?=[ ][a-z]\b)", lambda match, language: language.signs.get(match[0])),
    rule(r"\^\{?\\circ\}?", lambda _, language: language.signs.get("°")),
    rule(rf"\\({'|'.join(sorted(_TEX_SIGNS, key=len, reverse=True))})(?![A-Za-z])", _read_tex_sign),
    rule(rf"\\(?:{_TEX_LAYOUT})(?![A-Za-z])|\\[,;:!]", lambda match, _: " "),
    rule(
        r"(?<=[{(=])-(?=[a-z](?:[\W_]|$))|(?<=[{(=][ ])-(?=[a-z](?:[\W_]|$))",
        lambda _, language: language.signs.get("−"),
    ),
)
"""Rules for the signs of formulas."""
