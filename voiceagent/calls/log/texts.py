"""The texts of a log: each is written once and referred to as {"w": number} from then on. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from voiceagent.calls.log.codec import Json

REMEMBERED_TEXTS = 1024
"""Texts of a call that are referred to; one that was not used for longer is written again."""


Words = Literal["keep", "redact", "omit"]
"""What is written of words and numbers: all, their shape ("Xxx 00"), or only which are the same."""


class TextTable:
    """The texts of one log by number. words: what is written of them."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._next = 1
        self._new: dict[str, str | None] = {}

    def written(self, text: str) -> Json:
        """The reference to a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = self._next
            self._next += 1
            self._new[str(number)] = _shown(text, self._words)
            if len(self._numbers) > REMEMBERED_TEXTS:
                self._numbers.popitem(last=False)
        else:
            self._numbers.move_to_end(text)
        return {"w": number}

    def take_new(self) -> dict[str, str | None]:
        """The texts that were not referred to before, for the line that is written."""
        new, self._new = self._new, {}
        return new

    def forget(self) -> None:
        """A line was lost: what it told must be told again."""
        self._numbers.clear()


class ReadTexts:
    """The texts of a log that is read, by the numbers by which its lines refer to them."""

    def __init__(self) -> None:
        self._texts: dict[int, str | None] = {}

    def take(self, line: dict[str, Json]) -> None:
        """Take the texts that a line tells first; every line must be given, in order."""
        for number, text in line.pop("texts", {}).items():
            self._texts[int(number)] = text

    def resolved(self, value: Json) -> Json:
        """`value` with the texts in place of references to them, "" where one was not written."""
        if isinstance(value, dict):
            if value.keys() == {"w"}:
                return self._texts[value["w"]] or ""
            return {key: self.resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        return value


def _shown(text: str, words: Words) -> str | None:
    return _WRITTEN[words](text)


def redacted(text: str) -> str:
    """The shape of a text: small letters are x, capitals X, digits 0."""
    return "".join(map(_shape, text))


def _shape(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character


_WRITTEN: dict[Words, Callable[[str], str | None]] = {
    "keep": lambda text: text,
    "redact": redacted,
    "omit": lambda text: None,
}
