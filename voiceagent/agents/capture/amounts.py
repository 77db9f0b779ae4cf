"""Capture of amounts: "twenty five dollars and fifty cents", "1,200", "a hundred and five"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import ClassVar

from voiceagent.agents.capture.self_repairs import parse_meant
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.text_normalization.spoken_digits import number_at

_MULTIPLIERS = {
    "hundred": 100, "thousand": 1_000, "million": 1_000_000, "grand": 1_000, "k": 1_000,
    "hundert": 100, "tausend": 1_000, "millionen": 1_000_000,
    "cien": 100, "ciento": 100, "mil": 1_000, "millones": 1_000_000, "millón": 1_000_000,
}  # fmt: skip
_ONE = ("a", "an", "ein", "eine", "un", "una")
_CURRENCIES = (
    "dollar",
    "dollars",
    "euro",
    "euros",
    "pound",
    "pounds",
    "quid",
    "bucks",
    "$",
    "€",
    "£",
)
_REWRITTEN = (
    (re.compile(r"^\W*(?:party|dirty|thirsty) (?=\w)"), "thirty "),  # as recognizers write it
    (re.compile(r"(?<=\d)k\b"), " thousand"),
    (re.compile(r"\ba couple (?:of )?(?=hundred|thousand|million)"), "two "),
    (re.compile(r"\bhalf a (?=hundred|thousand|million)"), "0.5 "),
    (re.compile(r"\ba (?=dollar|euro|pound|quid)"), "one "),
    (re.compile(r"\b(?:dollars?|euros?|pounds?|quid|bucks) and (?=a half\b)"), "and "),
)
"""Phrases of amounts, and others for them whose words are numbers."""
_RANGE = ("between", "zwischen", "entre")
_MINUS = ("minus", "menos")
_POINT = ("point", "komma", "coma", "punto")
_HALF = ("half",)
_SMALL = ("cent", "cents", "pence", "penny", "pennies", "p", "céntimos", "centavos", "rappen")
_AND = ("and", "und", "y", "con")
_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_GERMAN_NUMBER = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+(?:,\d+)?")
_TOKEN = re.compile(r"[^\W\d_]+|\d[\d.,]*\d|\d|[$€£¢%]")


@dataclass(frozen=True)
class Amount(Task[Decimal]):
    """An amount of money, or any number with decimals.

    Args:
        minimum: Lowest amount; None sets no bound.
        maximum: Highest amount; None sets no bound.
        unit: Spoken after the amount when it is read back, such as "dollars".
    """

    minimum: Decimal | None = None
    maximum: Decimal | None = None
    unit: str = ""
    dictated: ClassVar[bool] = False
    spelled: ClassVar[bool] = False

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[Decimal]:
        """Parse the amount of a turn."""
        amount = find_amount(text, now.language)
        if amount is None:
            return Heard()
        above = self.maximum is not None and amount > self.maximum
        if above or (self.minimum is not None and amount < self.minimum):
            return Heard(fault=now.words.prompts.invalid.format(self._spoken(amount)))
        return Heard(amount, str(amount))

    def press(self, keys: str, now: Circumstances) -> Heard[Decimal]:
        """Parse a whole number that was pressed."""
        return replace(self.hear(keys, "", now), open=True)

    def read_back(self, value: Decimal, now: Circumstances, careful: bool) -> str:
        """Return the amount with its unit."""
        return self._spoken(value)

    def _spoken(self, amount: Decimal) -> str:
        return f"{amount} {self.unit}".strip()


def find_amount(text: str, language: str) -> Decimal | None:
    """Return the last amount in a text, corrected as the caller did, None if there is none. language: an ISO
    639 code.
    """
    return parse_meant(text, language, lambda part: _amount_in(part, language))


def _amount_in(text: str, language: str) -> Decimal | None:
    plain = text.lower().replace("-", " ")
    if language == "en":
        for phrase, other in _REWRITTEN:
            plain = phrase.sub(other, plain)
    tokens = _TOKEN.findall(plain)
    if any(word in tokens for word in _RANGE):  # two amounts are none
        return None
    amounts, at = [], 0
    while at < len(tokens):
        try:
            amount, used = _amount_at(tokens, at, language)
        except InvalidOperation:  # more digits than a Decimal has: "hundred hundred hundred ..."
            return None
        if amount is not None:
            amounts.append(-amount if at and tokens[at - 1] in _MINUS else amount)
        at += max(1, used)
    if not amounts:
        return None
    last = amounts[-1]
    return last.normalize() + 0 if last == last.to_integral_value() else last  # "1500.0" is read back as 1500


def _amount_at(tokens: Sequence[str], at: int, language: str) -> tuple[Decimal | None, int]:
    """Return the amount that begins at a token, with its cents, and the tokens that it takes."""
    whole, used = _number(tokens, at, language)
    if whole is None:
        return None, 0
    end = at + used
    if tokens[end : end + 1] and tokens[end] in _SMALL:
        return whole / 100, used + 1
    decimals, length = _decimals(tokens, end, language)
    if decimals is not None:
        multiplier = _MULTIPLIERS.get(tokens[end + length], 1) if end + length < len(tokens) else 1
        return (whole + decimals) * multiplier, used + length + (multiplier > 1)
    if (price := _cents_at(tokens, end, whole, language)) is not None:
        return whole + price[0], used + price[1]
    cents_at = end
    while cents_at < len(tokens) and cents_at < end + 2 and not _begins_number(tokens, cents_at, language):
        cents_at += 1  # "dollars and"
    cents, length = _number(tokens, cents_at, language)
    named = tokens[cents_at + length : cents_at + length + 1]
    if (
        cents is not None
        and cents < 100
        and cents_at > end
        and ((named and named[0] in _SMALL) or _is_and(tokens, end))
    ):
        return whole + cents / 100, cents_at + length - at
    return whole, used


def _cents_at(tokens: Sequence[str], at: int, whole: Decimal, language: str) -> tuple[Decimal, int] | None:
    """Return the cents of "twelve ninety nine" and "three pounds fifty", and their tokens; None without."""
    named = int(at < len(tokens) and tokens[at] in _CURRENCIES)
    oh = int(language == "en" and not named and tokens[at : at + 1] == ["oh"])
    cents, used = _figures(tokens, at + named + oh, language)
    named += oh
    is_whole = whole == int(whole) and whole < 1_000
    ends = at + named + used == len(tokens) or tokens[at + named + used] in _CURRENCIES
    if (
        not used
        or not ends
        or not (1 if oh else 10) <= cents < (10 if oh else 100)
        or not is_whole
        or (language != "en" and not named)
    ):
        return None
    return cents / 100, named + used


def _is_and(tokens: Sequence[str], end: int) -> bool:
    """Return True if a currency stands at this index and a word for "and" after it: "dollars and"."""
    return len(tokens) > end + 1 and tokens[end] not in _AND and tokens[end + 1] in _AND


def _decimals(tokens: Sequence[str], at: int, language: str) -> tuple[Decimal | None, int]:
    """Return the fraction of "point five", or "and a half"."""
    if at < len(tokens) and tokens[at] in _POINT:
        digits, end = "", at + 1
        while end < len(tokens) and (found := number_at(tokens, end, language))[0]:
            digits, end = digits + found[0], end + found[1]
        return (Decimal(f"0.{digits}"), end - at) if digits else (None, 0)
    if tuple(tokens[at : at + 2]) == ("and", "a") and tokens[at + 2 : at + 3] == ["half"]:
        return Decimal("0.5"), 3
    return None, 0


def _begins_number(tokens: Sequence[str], at: int, language: str) -> bool:
    return bool(_figures(tokens, at, language)[1])


def _number(tokens: Sequence[str], at: int, language: str) -> tuple[Decimal | None, int]:
    """Return the number that begins at a token: "two thousand three hundred and five"."""
    total, current, begin = Decimal(0), None, at
    while at < len(tokens):
        figures, used = _figures(tokens, at, language)
        if tokens[at] in _ONE and tokens[at + 1 : at + 2] and tokens[at + 1] in _MULTIPLIERS:
            current, at = Decimal(1), at + 1
        elif used:
            if current is not None and current % 100:  # the next number
                break
            current, at = (current or Decimal(0)) + figures, at + used
        elif tokens[at] in _MULTIPLIERS and (current is not None or language != "en"):
            multiplier = _MULTIPLIERS[tokens[at]]
            current = (current or Decimal(1)) * multiplier
            if multiplier >= 1_000:
                total, current = total + current, Decimal(0)
            at += 1
        elif (
            tokens[at] in _AND
            and current is not None
            and not current % 100
            and (current or total)
            and _begins_number(tokens, at + 1, language)
        ):
            at += 1
        else:
            break
    if current is None:
        return None, 0
    return total + current, at - begin


def _figures(tokens: Sequence[str], at: int, language: str) -> tuple[Decimal, int]:
    """Return a number below 100 in words, or any in figures, and its tokens; 0 tokens without one."""
    if at >= len(tokens):
        return Decimal(0), 0
    token = tokens[at]
    if token[0].isdecimal():
        if language == "en" and _NUMBER.fullmatch(token):
            return Decimal(token.replace(",", "")), 1
        if language != "en" and _GERMAN_NUMBER.fullmatch(token):
            return Decimal(token.replace(".", "").replace(",", ".")), 1
        return (Decimal(token), 1) if token.isdecimal() else (Decimal(0), 0)
    figures, used = number_at(tokens, at, language)
    return (Decimal(figures), used) if figures else (Decimal(0), 0)
