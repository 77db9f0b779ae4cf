"""Capture of telephone numbers and payment cards, said in groups or pressed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from voiceagent.agents.capture.corrections import correct_text
from voiceagent.agents.capture.self_repairs import repaired_digits, split_at_no
from voiceagent.agents.capture.symbols import Symbol, symbols_of, without_openings
from voiceagent.agents.capture.task import Circumstances, Heard, Task
from voiceagent.conversation.words import words_of
from voiceagent.text_normalization.spoken_digits import hundreds, number_at

_SPACES = (r"[\s,.;]+", r"[\s,.;]+")
"""Patterns around a mere "no" within a number, where it is a word of its own."""
_TELEPHONE_DIGITS = range(7, 16)
"""Digits of a telephone number: at most 15 (ITU-T E.164, 6.1); fewer than seven are an extension."""
_WHOLE_DIGITS = 10
"""Digits of a telephone number after which no more are awaited."""
_CARD_DIGITS = range(12, 20)
"""Digits of a card (ISO/IEC 7812-1, 4)."""
_AMEX_DIGITS, _USUAL_CARD_DIGITS = 15, 16
_LONG_ROW = re.compile(r"(\d)\1{4,}")
"""Equal digits of which recognizers lose count."""
_ROW = re.compile(r"(\d)\1{2,}")
"""Equal digits of which one may be too many in a telephone number."""
_GROUP = 3
"""Equal digits that are a group of their own."""
_ZEROS = {"hundred": "00", "thousand": "000"}
"""Words after a group that add zeros to it: "eight hundred", "twelve hundred"."""
_WORD = re.compile(r"\d+|[^\W\d_]+")
_ENDINGS = ("ends", "ending", "last", "endet", "letzten", "termina", "últimos")
_OPENINGS = ("begins", "beginning", "starts", "first", "beginnt", "ersten", "empieza", "primeros")


@dataclass(frozen=True)
class PhoneNumber(Task[str]):
    """A telephone number: its digits, with "+" before them if the caller said so.

    Args:
        lengths: Possible numbers of digits; () for 7 to 15.
    """

    lengths: tuple[int, ...] = ()
    spelled: ClassVar[bool] = False

    @property
    def digits(self) -> tuple[int, ...]:
        """Possible lengths."""
        return self.lengths or (10, 11, 7)

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse a group of digits and add it to the draft; a whole number, said again, takes its place."""
        digits = said_digits(text, draft, now)
        if (repaired := _repaired_draft(text, draft, digits, now)) is not None:
            return self._checked(repaired, now)
        again = len(draft + digits) > max(self.lengths or _TELEPHONE_DIGITS) and len(digits) in self.digits
        return self._checked(digits if again else draft + digits, now)

    def press(self, keys: str, now: Circumstances) -> Heard[str]:
        """Parse a number that was pressed."""
        return self._checked(keys, now)

    def _checked(self, number: str, now: Circumstances) -> Heard[str]:
        count = len(number.lstrip("+"))
        allowed = self.lengths or _TELEPHONE_DIGITS
        if count in allowed:
            return Heard(number, number, open=not self.lengths and count < _WHOLE_DIGITS)
        if count > max(allowed):
            return Heard(fault=now.words.prompts.invalid.format(in_groups(number)))
        return Heard(draft=number)

    def second_guess(self, refused: str, now: Circumstances) -> str | None:
        """Return a number of eleven digits without one that was not said: of a long row, of which recognizers
        lose count, or an eight before it, as they write for "it's".
        """
        if self.lengths or len(refused) != _WHOLE_DIGITS + 1 or refused[0] in "01":
            return None
        rows = list(_ROW.finditer(refused))
        longest = max((len(row[0]) for row in rows), default=0)
        if now.language == "en" and refused[0] == "8" and refused[1] != "8" and longest <= _GROUP:
            return refused[1:]
        return refused[: rows[0].start()] + refused[rows[0].start() + 1 :] if len(rows) == 1 else None

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the digits in groups."""
        return in_groups(value)

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the number with digits changed, or another number."""
        changed = correct_digits(value, text, now)
        return changed if changed is not None and self._checked(changed, now).value else None


@dataclass(frozen=True)
class Card(Task[str]):
    """The number of a payment card, checked by its last digit. Private, so that its digits are in no log, no
    store and no prompt: the agent's code alone gets them. Only the last four digits are read back.
    """

    private: bool = field(default=True, init=False)
    spelled: ClassVar[bool] = False
    masked: ClassVar[bool] = True

    @property
    def digits(self) -> tuple[int, ...]:
        """Possible lengths."""
        return _USUAL_CARD_DIGITS, _AMEX_DIGITS

    def hear(self, text: str, draft: str, now: Circumstances) -> Heard[str]:
        """Parse a group of digits and add it to the draft; a whole number, said again, takes its place."""
        digits = said_digits(text, draft, now).lstrip("+")
        if (repaired := _repaired_draft(text, draft, digits, now)) is not None:
            return self._checked(repaired, now)
        again = bool(draft) and len(digits) in self.digits and passes_luhn(digits)
        return self._checked(digits if again else draft + digits, now)

    def press(self, keys: str, now: Circumstances) -> Heard[str]:
        """Parse a number that was pressed."""
        return self._checked(keys, now)

    def _checked(self, number: str, now: Circumstances) -> Heard[str]:
        wanted = _AMEX_DIGITS if number[:2] in ("34", "37") else _USUAL_CARD_DIGITS
        if len(number) in _CARD_DIGITS and len(number) >= wanted:
            if passes_luhn(number):
                return Heard(number, number)
            if (shorter := _without_one_too_many(number)) is not None and len(number) == wanted + 1:
                return Heard(shorter, shorter)
            return Heard(fault=now.words.prompts.again)
        return Heard(draft=number)

    def read_back(self, value: str, now: Circumstances, careful: bool) -> str:
        """Return the last four digits."""
        return " ".join(value[-4:])

    def correct(self, value: str, text: str, now: Circumstances) -> str | None:
        """Return the number with digits changed, or another number."""
        changed = correct_digits(value, text, now)
        return changed if changed is not None and passes_luhn(changed) else None


def passes_luhn(number: str) -> bool:
    """Return True if the last digit is the check digit (ISO/IEC 7812-1, annex B)."""
    doubled = (int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(number)))
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


def _without_one_too_many(number: str) -> str | None:
    """Return a card's number without one of the equal digits in its only long row; None if it has no such
    row, or another check digit.
    """
    rows = list(_LONG_ROW.finditer(number))
    shorter = number[: rows[0].start()] + number[rows[0].start() + 1 :] if len(rows) == 1 else ""
    return shorter if shorter and passes_luhn(shorter) else None


def said_digits(text: str, draft: str, now: Circumstances) -> str:
    """Return the digits of a turn, with "+" at the beginning of a number; "" if most words are others."""
    before, after = split_at_no(without_openings(text, now.language), now.language, _SPACES)
    symbols = _symbols(f"{before} {after}" if before else after, now)
    digits = _digits_in(symbols, now)
    if before:
        said, again = (_digits_in(_symbols(part, now), now) for part in (before, after))
        digits = repaired_digits(said, again, _first_group(after, now)) if again else said
    others = sum(symbol.kind == "word" and not _zeros(symbol, now) for symbol in symbols)
    if others > len(digits):
        return ""
    plus = not draft and bool(symbols) and symbols[0].text == "+"
    return f"+{digits}" if plus and digits else digits


def _repaired_draft(text: str, draft: str, digits: str, now: Circumstances) -> str | None:
    """Return the digits of earlier turns corrected by a turn that begins with "no"; None for other turns."""
    said = words_of(text)
    if not draft or not digits or said[:1] not in now.words.no:
        return None
    return repaired_digits(draft, digits, _first_group(text, now))


def _first_group(text: str, now: Circumstances) -> int:
    """Return the number of digits before the first comma or stop after a digit."""
    groups = (_digits_in(_symbols(part, now), now) for part in re.split("[,.]", text))
    return len(next((group for group in groups if group), ""))


def symbols_with_zeros(text: str, now: Circumstances) -> list[Symbol]:
    """Return the symbols of a text with hundreds as figures: "E nine hundred" is "e" and "900"."""
    found: list[Symbol] = []
    for symbol in _symbols(text, now):
        zeros = _zeros(symbol, now) if now.language != "en" or (found and found[-1].kind == "digits") else ""
        found.append(Symbol("digits", zeros) if zeros else symbol)
    return found


def _symbols(text: str, now: Circumstances) -> list[Symbol]:
    """Return the symbols of a text in which a number after hundreds takes the place of their zeros ("four
    hundred twelve", "three hundred and five"), unless it is a group of its own ("eight hundred, twelve",
    "eight hundred five five").
    """
    words = list(_WORD.finditer(text))
    said = [word[0].lower() for word in words]
    pieces, end = [], 0
    for at, word in enumerate(words[:-1]):
        figures = _hundreds(said[at], now)
        number_from = at + 1 + (said[at + 1] == "and" and at + 2 < len(words))
        apart = said[at] == "cien" or re.search("[,.;]", text[word.end() : words[number_from].start()])
        if not figures or apart:  # 112 is "ciento doce"
            continue
        number, used = number_at(said, number_from, now.language)
        behind = text[words[number_from + used - 1].end() :]
        last = number_from > at + 1 or not re.match(r"\s*\w", behind)  # "four hundred five five" are groups
        is_short = len(number) == 2 or (len(number) == 1 and last)
        thousands = len(figures) == 3 and said[number_from + used : number_from + used + 1] == ["hundred"]
        if is_short or (number and thousands):
            kept = "" if thousands else figures[: len(figures) - len(number)]
            pieces += [text[end : word.start()], kept]
            end = words[number_from - 1].end()
    return symbols_of("".join([*pieces, text[end:]]), now.language)


def _digits_in(symbols: Iterable[Symbol], now: Circumstances) -> str:
    """Return the digits of symbols, with the zeros of "eight hundred" and "achthundert"."""
    digits = ""
    for symbol in symbols:
        zeros = _zeros(symbol, now) if digits or now.language != "en" else ""  # "a hundred" begins no number
        digits += zeros or _digit(symbol.kind, symbol.text)
    return digits


def _zeros(symbol: Symbol, now: Circumstances) -> str:
    """Return the zeros that a word adds to the group before it, or the figures of hundreds in one word."""
    return _hundreds(symbol.text, now) if symbol.kind == "word" else ""


def _hundreds(word: str, now: Circumstances) -> str:
    return _ZEROS.get(word, "") if now.language == "en" else hundreds(now.language).get(word, "")


def _digit(kind: str, text: str) -> str:
    """Return the digits of a symbol; among digits the letter O is a zero."""
    if kind == "digits":
        return text
    return "0" if kind == "letter" and text == "o" else ""


def correct_digits(value: str, text: str, now: Circumstances) -> str | None:
    """Return a number with its end, its beginning or one group changed; a long one replaces it."""
    new = _digits_in(_symbols(text, now), now)
    tokens = words_of(text)
    if len(new.lstrip("+")) > len(value) // 2 + 1:
        return new
    if new and any(token in _ENDINGS for token in tokens):
        return value[: -len(new)] + new
    if new and any(token in _OPENINGS for token in tokens):
        return new + value[len(new) :]
    changed = correct_text(value, text, now)
    # a digit may have been heard as a letter that sounds like it: "B" for "3"
    return changed if changed is not None and changed.lstrip("+").isdigit() else None


def in_groups(number: str) -> str:
    """Return digits for a voice: in threes, the last group of two to four."""
    plus, digits = ("+", number[1:]) if number.startswith("+") else ("", number)
    groups = []
    while len(digits) > 4:
        groups.append(digits[:3])
        digits = digits[3:]
    groups.append(digits)
    return plus + ", ".join(" ".join(group) for group in groups if group)
