"""Numbers in words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from num2words import num2words  # type: ignore[import-untyped]  # it has no type hints

from voiceagent.text_normalization.languages import Language

MAX_CARDINAL = 15
"""Largest number of digits that is not read digit by digit."""


def number_pattern(language: Language) -> str:
    """Return the regular expression of an unsigned number in the language's notation.

    Groups of three may also be separated by a blank that does not break, or "000" by any: "10 000".
    """
    groups = rf"(?:(?:{language.group}\d{{3}})+|(?:[\u00a0\u202f]\d{{3}})+|(?:[ ]000)+)(?!\d)"
    return rf"(?:\d{{1,3}}{groups}|\d+)(?:{language.decimal}\d+)?"


def foreign_amount_pattern(language: Language) -> str:
    """Return the regular expression of sums of money in notations of other languages: "1.250,00" in English.

    None of them is a sum in the language's own notation, as sums have two decimals or none.
    """
    if language.decimal == r"\.":
        return (
            r"(?:\d{1,3}(?:\.\d{3})+,\d\d(?!\d)|\d+,\d\d(?![\d,])|\d{1,2}(?:,\d\d)+,\d{3}(?!\d)"
            r"|\d{1,3}(?:['’]\d{3})+(?:\.\d\d)?(?!\d)|\.\d\d(?!\d))"
        )
    return r"(?:\d{1,3}(?:[., '’]\d{3})+(?:[.,]\d\d)?(?!\d|[.,]\d)|\d+\.\d\d(?!\d|\.\d))"


def own_notation(amount: str, language: Language) -> str:
    """Return a sum of money in the language's own notation."""
    if not re.fullmatch(foreign_amount_pattern(language), amount):
        return amount
    whole, cents = (amount[:-3], amount[-2:]) if amount[-3] in ".," else (amount, "")
    digits = re.sub(r"\D", "", whole) or "0"
    return f"{digits}{language.decimal[-1]}{cents}" if cents else digits


def number_words(written: str, language: Language) -> str | None:
    """Return the words of a number that matches `number_pattern`; None if they are unknown."""
    whole, *decimals = re.split(language.decimal, written)
    whole = re.sub(r"\D", "", whole)
    if len(whole) > MAX_CARDINAL or (len(whole) > 1 and whole.startswith("0")):
        words = digit_words(whole, language)
    else:
        words = in_words(int(whole), language)
    if not decimals:
        return words
    after = digit_words(decimals[0], language)
    return f"{words} {language.point} {after}" if words and after and language.point else None


def digit_words(digits: str, language: Language) -> str | None:
    """Return the words of each digit; other characters separate groups and become commas."""
    groups = [[in_words(int(digit), language) for digit in group] for group in re.findall(r"\d+", digits)]
    words = [" ".join(word for word in group if word) for group in groups]
    return ", ".join(words) if all(words) else None


@lru_cache(maxsize=1_024)
def in_words(
    number: int, language: Language, form: Literal["cardinal", "ordinal", "year"] = "cardinal"
) -> str | None:
    """Return the words of a whole number; None if the language or the form is unknown."""
    try:
        words = num2words(number, lang=language.code, to=form)
    except (NotImplementedError, OverflowError, TypeError, ValueError):
        return None
    return str(words).replace(",", "")


def has_words(language: Language) -> bool:
    """Return True if numbers can be written as words in the language."""
    return in_words(0, language) is not None
