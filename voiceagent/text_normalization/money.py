"""Sums of money: "$12.50", "10 - 15 €", "USD 240"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import Gender, counting_words
from voiceagent.text_normalization.languages import Language
from voiceagent.text_normalization.numbers import in_words, number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, word_before

_SCALES = {
    "en": {"k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "bn": "billion",
           "B": "billion", "thousand": "thousand", "million": "million", "billion": "billion",
           "trillion": "trillion"},
    "de": {"Tsd.": "Tausend", "Mio.": "Millionen", "Mio": "Millionen", "Mrd.": "Milliarden", "Mrd": "Milliarden",
           "Millionen": "Millionen", "Milliarden": "Milliarden"},
    "es": {"millones": "millones de", "mil": "mil", "M": "millones de"},
}  # fmt: skip
_CENTS = {"$": ("cent", "cents"), "€": ("cent", "cents"), "£": ("penny", "pence")}
_CODES = {
    "en": {
        "USD": ("one US dollar", "US dollars"), "EUR": ("one euro", "euros"), "GBP": ("one pound", "pounds"),
        "CHF": ("one Swiss franc", "Swiss francs"), "CAD": ("one Canadian dollar", "Canadian dollars"),
        "AUD": ("one Australian dollar", "Australian dollars"), "JPY": ("one yen", "yen"),
        "INR": ("one rupee", "rupees"), "MXN": ("one Mexican peso", "Mexican pesos"),
        "US$": ("one US dollar", "US dollars"), "CA$": ("one Canadian dollar", "Canadian dollars"),
        "A$": ("one Australian dollar", "Australian dollars"), "C$": ("one Canadian dollar", "Canadian dollars"),
    },
    "de": {
        "EUR": ("ein Euro", "Euro"), "USD": ("ein Dollar", "Dollar"), "GBP": ("ein Pfund", "Pfund"),
        "CHF": ("ein Franken", "Franken"), "Fr.": ("ein Franken", "Franken"), "US$": ("ein Dollar", "Dollar"),
        "Euro": ("ein Euro", "Euro"),
    },
    "es": {
        "EUR": ("un euro", "euros"), "USD": ("un dólar", "dólares"), "GBP": ("una libra", "libras"),
        "CHF": ("un franco", "francos"), "MXN": ("un peso", "pesos"), "US$": ("un dólar", "dólares"),
        "ARS": ("un peso", "pesos"), "COP": ("un peso", "pesos"), "euros": ("un euro", "euros"),
    },
}  # fmt: skip
"""Codes and names of currencies beside their signs, which `Language` has: what one is, and the name of many."""


def _currency(sign: str, language: Language) -> tuple[str, str] | None:
    return language.currencies.get(sign) or _CODES.get(language.code, {}).get(sign)


def _counted(amount: str, many: str, language: Language, before: str) -> str | None:
    gender: Gender = "f" if many in ("libras", "rupias") else "m"
    return counting_words(amount, language, gender, before)


def _read_money(match: re.Match[str], language: Language) -> str | None:
    currency = _currency(match["sign"], language)
    if currency is None:
        return None
    scale = match.groupdict().get("scale")
    if scale:
        scale = _SCALES.get(language.code, {}).get(scale, scale)
        return f"{number_words(match['amount'], language)} {scale} {currency[1]}"
    return _sum_words(match["amount"], currency, match["sign"], language, word_before(match))


def _sum_words(
    amount: str, currency: tuple[str, str], sign: str, language: Language, before: str = ""
) -> str | None:
    one, many = currency
    whole, *cents = re.split(language.decimal, amount)
    if not cents or not int(cents[0]) or len(cents[0]) != 2:
        exact = whole if not cents or not int(cents[0]) else amount
        if exact != "1":
            return f"{_counted(exact, many, language, before)} {many}"
        return f"{_counted('1', many, language, before)} {many}" if language.code == "de" else one
    whole_words = one if whole == "1" else f"{_counted(whole, many, language, before)} {many}"
    cents_words = in_words(int(cents[0]), language)
    if language.code != "en":
        return f"{whole_words} {cents_words}"
    if sign not in _CENTS:
        return f"{whole_words} {cents_words}" if sign.isascii() else f"{whole_words} {cents_words}"
    cents_words = f"{cents_words} {_CENTS[sign][int(cents[0]) != 1]}"
    return cents_words if int(re.sub(r"\D", "", whole)) == 0 else f"{whole_words} and {cents_words}"


def _read_range(match: re.Match[str], language: Language) -> str | None:
    """Name the currency once, as people do, unless there are cents."""
    sign = match["sign"] or match["sign_after"]
    currency = _currency(sign, language)
    until = language.signs.get("–")
    if currency is None or until is None:
        return None
    start, end = match["start"], match["end"]
    if any(
        re.search(language.decimal + r"\d\d$", each) and not re.search("00$", each) for each in (start, end)
    ):
        first, last = (_sum_words(each, currency, sign, language) for each in (start, end))
        return f"{first} {until} {last}"
    return f"{_whole(start, currency[1], language)} {until} {_sum_words(end, currency, sign, language)}"


def _whole(amount: str, many: str, language: Language) -> str | None:
    return _counted(re.sub(rf"{language.decimal}00$", "", amount), many, language, "")


def _read_dash_for_cents(match: re.Match[str], language: Language) -> str | None:
    currency = _currency(match["sign"], language)
    return _sum_words(match["amount"], currency, match["sign"], language) if currency else None


def money_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for sums of money in a language."""
    number = number_pattern(language)
    amount, gap = rf"(?P<amount>{number})", r"[ \u00a0\u202f]?"
    names = "|".join(re.escape(code) for code in _CODES.get(language.code, {})) or "(?!)"
    known = _SCALES.get(language.code, _SCALES["en"])
    scales = "|".join(re.escape(scale) for scale in sorted(known, key=len, reverse=True))
    scale = rf"(?:{gap}(?P<scale>{scales})(?![\w'’]))?"
    signs, dash = "[$€£¥₹₩]", r"(?:[ ][-–—][ ]|[-–—])"
    return (
        rule(rf"(?P<sign>{signs})[ ]?(?P<start>{number}){dash}(?:(?P=sign)[ ]?)?(?P<end>{number})"
             rf"(?P<sign_after>(?!))?(?![\w'’%]|[.,]\d)", _read_range),
        rule(rf"(?P<start>{number})(?P<sign>(?!))?(?:{gap}(?:{signs}|(?:{names})\b))?{dash}(?P<end>{number}){gap}"
             rf"(?P<sign_after>{signs}|(?:{names})(?!\w))(?![\w'’]|{gap}\d)", _read_range),
        rule(rf"(?P<sign>{signs}|(?:{names})(?!\w))[ ]?{amount}{scale}", _read_money),
        rule(rf"{amount},[-–—]+{gap}(?P<sign>{signs}|(?:{names})(?!\w))", _read_dash_for_cents, "de"),
        rule(rf"{amount}{scale}{gap}(?P<sign>{signs}|(?:{names})(?!\w))(?!\d)", _read_money),
    )  # fmt: skip
