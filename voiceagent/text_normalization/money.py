"""Sums of money: "$12.50", "10 - 15 €", "USD 240"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import counting_words
from voiceagent.text_normalization.languages import Gender, Language
from voiceagent.text_normalization.numbers import in_words, number_pattern, number_words
from voiceagent.text_normalization.rules import Rule, rule, word_before

_CENTS = {"$": ("cent", "cents"), "€": ("cent", "cents"), "£": ("penny", "pence")}


def _counted(amount: str, many: str, language: Language, before: str) -> str | None:
    gender: Gender = "f" if many in ("libras", "rupias") else "m"
    return counting_words(amount, language, gender, before)


def _read_money(match: re.Match[str], language: Language) -> str | None:
    currency = language.currencies.get(match.groupdict().get("name") or match["sign"])
    if currency is None:
        return None
    scale = match.groupdict().get("scale")
    if scale:
        scale = language.scales.get(scale, scale)
        return f"{number_words(match['amount'], language)} {scale} {currency[1]}"
    return _sum_words(
        _european(match["amount"], language), currency, match["sign"], language, word_before(match)
    )


def _european(amount: str, language: Language) -> str:
    """Return a Spanish sum in the European form; "1,500.50" is the Mexican one."""
    if language.code == "es" and re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d\d)?", amount):
        return amount.translate(str.maketrans(",.", ".,"))
    return amount


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
        return f"{whole_words} {cents_words}"
    cents_words = f"{cents_words} {_CENTS[sign][int(cents[0]) != 1]}"
    return cents_words if int(re.sub(r"\D", "", whole)) == 0 else f"{whole_words} and {cents_words}"


def _read_range(match: re.Match[str], language: Language) -> str | None:
    """Read a range with the currency named once, as people do, unless there are cents."""
    sign = match["sign"] or match["sign_after"]
    currency = language.currencies.get(sign)
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
    currency = language.currencies.get(match["sign"])
    return _sum_words(match["amount"], currency, match["sign"], language) if currency else None


def money_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for sums of money in a language."""
    number = number_pattern(language)
    american = r"\d{1,3}(?:,\d{3})+(?:\.\d\d)?(?!\d)|" if language.code == "es" else ""
    written = rf"(?P<amount>{american}{number})"
    amount, gap = rf"(?P<amount>{number})", r"[ \u00a0\u202f]?"
    names = "|".join(re.escape(name) for name in language.currencies if len(name) > 1) or "(?!)"
    scales = "|".join(re.escape(scale) for scale in sorted(language.scales, key=len, reverse=True)) or "(?!)"
    scale = rf"(?:{gap}(?P<scale>{scales})(?![\w'’]))?"
    signs, dash = "[$€£¥₹₩¢]", r"(?:[ ][-–—][ ]|[-–—])"
    named = rf"{signs}|(?:{names})(?!\w)"
    return (
        rule(
            rf"(?P<sign>{signs})[ ]?(?P<start>{number}){dash}(?:(?P=sign)[ ]?)?(?P<end>{number})"
            rf"(?P<sign_after>(?!))?(?![\w'’%]|[.,]\d)",
            _read_range,
        ),
        rule(
            rf"(?P<start>{number})(?P<sign>(?!))?(?:{gap}(?:{signs}|(?:{names})\b))?{dash}(?P<end>{number})"
            rf"{gap}(?P<sign_after>{named})(?![\w'’]|{gap}\d)",
            _read_range,
        ),
        rule(rf"(?P<sign>{named})[ ]?{written}{scale}(?:[ ]?(?P<name>{names})(?!\w))?", _read_money),
        rule(rf"{amount},[-–—]+{gap}(?P<sign>{named})", _read_dash_for_cents, "de"),
        rule(rf"{amount}{scale}{gap}(?P<sign>{named})(?!\d)", _read_money),
    )
