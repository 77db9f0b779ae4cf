"""Numbers in words."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from num2words import num2words  # type: ignore[import-untyped]  # it has no type hints

from voiceagent.text_normalization.languages import Language

MAX_CARDINAL = 15
"""Digits beyond which a number is read digit by digit."""


def number_pattern(language: Language) -> str:
    """Regular expression of a number as the language writes it, without a sign."""
    return rf"(?:\d{{1,3}}(?:{language.group}\d{{3}})+(?!\d)|\d+)(?:{language.decimal}\d+)?"


def number_words(written: str, language: Language) -> str | None:
    """A number that matches `number_pattern` in words; None where its words are not known."""
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
    """Every figure of a text by itself; what is not a figure parts groups and is spoken as a comma."""
    groups = [[in_words(int(digit), language) for digit in group] for group in re.findall(r"\d+", digits)]
    words = [" ".join(word for word in group if word) for group in groups]
    return ", ".join(words) if all(words) else None


@lru_cache(maxsize=1_024)
def in_words(
    number: int, language: Language, form: Literal["cardinal", "ordinal", "year"] = "cardinal"
) -> str | None:
    """A whole number in words; None where the language, or the form in it, is not known."""
    try:
        words = num2words(number, lang=language.code, to=form)
    except (NotImplementedError, OverflowError, TypeError, ValueError):
        return None
    return str(words).replace(",", "")


def has_words(language: Language) -> bool:
    """Whether numbers can be put into words."""
    return in_words(0, language) is not None
