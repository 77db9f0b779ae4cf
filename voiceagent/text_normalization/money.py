"""Sums of money: "$12.50", "10 - 15 €", "USD 240"."""

from __future__ import annotations

import re

from voiceagent.text_normalization.agreement import counting_words
from voiceagent.text_normalization.formulas import closes_formula
from voiceagent.text_normalization.languages import MONEY_SIGNS, Gender, Language
from voiceagent.text_normalization.numbers import (
    foreign_amount_pattern,
    in_words,
    number_pattern,
    number_words,
    own_notation,
)
from voiceagent.text_normalization.rules import CONTEXT_CHARS, Rule, rule, text_after, word_before

_NAMED_BY_A_SUM = re.compile(
    r"[ ](?:bills?|notes?|deposit|fee|charge|credit|refund|gift|voucher|coupon|discount|donation|surcharge"
    r"|minimum|copay|tip|reward|rebate|bonus|budget|limit)\b"
)
_NOUN = re.compile(r"[ ](?!(?:per|for|to|and|or|each|off|more|less|in|on|a|at|with|from|is)\b)[a-z]")


def _counted(amount: str, many: str, language: Language, before: str) -> str | None:
    gender: Gender = "f" if many in ("libras", "rupias") else "m"
    return counting_words(amount, language, gender, before)


def _read_money(match: re.Match[str], language: Language) -> str | None:
    currency = language.currencies.get(match.groupdict().get("name") or match["sign"])
    ends_formula = match[0].endswith("$") and closes_formula(
        match.string[max(0, match.end() - CONTEXT_CHARS) : match.end() - 1]
    )
    if currency is None or ends_formula:
        return None
    scale = match.groupdict().get("scale")
    if scale:
        scale = language.scales.get(scale, scale)
        name = _singular(currency) if _is_attribute(match, language) else currency[1]
        words = f"{number_words(match['amount'], language)} {scale} {name}"
        return words.replace(" de euro", " d'euro") if language.code == "fr" else words
    amount = own_notation(match["amount"], language)
    if _is_attribute(match, language) and not re.search(language.decimal, amount):
        currency = (currency[0], _singular(currency))
    return _sum_words(amount, currency, match["sign"], language, word_before(match))


def _is_attribute(match: re.Match[str], language: Language) -> bool:
    """Return True if a noun follows that the sum describes: "a five dollar bill", "twenty dollar bills"."""
    after = text_after(match, 24)
    one = word_before(match) in ("a", "an") and _NOUN.match(after)
    return language.code == "en" and bool(one or _NAMED_BY_A_SUM.match(after))


def _singular(currency: tuple[str, str]) -> str:
    return currency[0].removeprefix("one ")


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
    named_cents = _cents_words(int(cents[0]), sign, language)
    if named_cents and int(re.sub(r"\D", "", whole)) == 0:
        return named_cents
    if named_cents and language.code == "en":
        return f"{whole_words} and {named_cents}"
    return f"{whole_words} {in_words(int(cents[0]), language)}"


def _cents_words(cents: int, sign: str, language: Language) -> str | None:
    """Return the words of an amount below one, None if its unit has no name in the language."""
    names = language.cents.get(sign)
    if names is None:
        return None
    count = in_words(1, language) if language.code == "en" else counting_words("1", language, "m")
    return f"{count if cents == 1 else in_words(cents, language)} {names[cents != 1]}"


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
    scale, before = match["scale"], match["scale_before"]
    if before and before != scale:
        first = f"{number_words(start, language)} {language.scales.get(before, before)} {currency[1]}"
        last = (
            f"{number_words(end, language)} {language.scales.get(scale, scale)} {currency[1]}"
            if scale
            else None
        )
        return f"{first} {until} {last or _sum_words(end, currency, sign, language)}"
    if scale:
        amounts = (number_words(each, language) for each in (start, end))
        return f"{f' {until} '.join(filter(None, amounts))} {language.scales.get(scale, scale)} {currency[1]}"
    return f"{_whole(start, currency[1], language)} {until} {_sum_words(end, currency, sign, language)}"


def _whole(amount: str, many: str, language: Language) -> str | None:
    return _counted(re.sub(rf"{language.decimal}00$", "", amount), many, language, "")


def _read_dash_for_cents(match: re.Match[str], language: Language) -> str | None:
    currency = language.currencies.get(match["sign"])
    return _sum_words(match["amount"], currency, "", language) if currency else None


def _read_sign_between(match: re.Match[str], language: Language) -> str | None:
    """Read "5€50"."""
    amount = f"{match['whole']}{language.decimal}{match['cents']}"
    return _sum_words(amount, language.currencies[match["sign"]], match["sign"], language)


def _read_pence(match: re.Match[str], language: Language) -> str | None:
    return _cents_words(int(match[1]), "£", language)


def money_rules(language: Language) -> tuple[Rule, ...]:
    """Return the rules for sums of money in a language."""
    number = number_pattern(language)
    amount = rf"(?P<amount>{foreign_amount_pattern(language)}|{number})"
    whole, gap = rf"(?P<amount>{number})", r"[ \u00a0\u202f]?"
    names = "|".join(re.escape(name) for name in language.currencies if len(name) > 1) or "(?!)"
    scales = "|".join(re.escape(scale) for scale in sorted(language.scales, key=len, reverse=True)) or "(?!)"
    scale = rf"(?:{gap}(?P<scale>{scales})(?![\w'’]))?"
    signs, dash = f"[{MONEY_SIGNS}]", r"(?:[ ][-–—][ ]|[-–—])"
    named = rf"{signs}|(?:{names})(?:(?<=\W)|(?!\w))"
    return (
        rule(
            rf"(?P<sign>{signs})[ ]?(?P<start>{number})(?P<scale_before>{scales})?{dash}"
            rf"(?:(?P=sign)[ ]?)?(?P<end>{number}){scale}"
            rf"(?P<sign_after>(?!))?(?![\w'’%]|[.,]\d)",
            _read_range,
        ),
        rule(
            rf"(?P<start>{number})(?P<sign>(?!))?(?P<scale_before>(?!))?(?:{gap}(?:{signs}|(?:{names})\b))?{dash}(?P<end>{number})"
            rf"{scale}{gap}(?P<sign_after>{named})(?![\w'’]|{gap}\d)",
            _read_range,
        ),
        rule(rf"(?P<sign>{named})[ ]?{whole}[.,][-–—]+(?!\w)", _read_dash_for_cents),
        rule(
            r"(?P<whole>\d+)[ ]?(?P<sign>€)(?P<cents>\d\d)(?!\d)",
            _read_sign_between,
            "fr",
            "de",
            "es",
            "it",
            "nl",
        ),
        rule(rf"(?P<sign>{named})[ ]?{amount}{scale}(?:[ ]?(?P<name>{names})(?!\w))?", _read_money),
        rule(rf"{whole}[.,][-–—]+{gap}(?P<sign>{named})", _read_dash_for_cents),
        rule(r"([1-9]\d?)p\b", _read_pence, "en"),
        rule(rf"{amount}{scale}{gap}(?P<sign>{named})(?!\d)", _read_money),
    )
