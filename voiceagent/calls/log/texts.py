"""Texts of a log: each is written once and then referred to as {"w": number}."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from voiceagent.calls.log.codec import Json

REMEMBERED_TEXTS = 1024
"""Number of texts kept for references; one that was not used recently is written again."""


Words = Literal["keep", "redact", "omit"]
"""Policy for texts and numbers: keep all, only their shape ("Xxx 00"), or only their identity."""


class TextTable:
    """Numbers of the texts of one log: written once, then by number. words: keeps, redacts or omits each."""

    def __init__(self, words: Words) -> None:
        self._words = words
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._next = 1
        self._new: dict[str, str | None] = {}

    def written(self, text: str) -> Json:
        """Return the reference to a text."""
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
        """Return and clear the texts to add to the current line."""
        new, self._new = self._new, {}
        return new

    def forget(self) -> None:
        """Forget all texts after the loss of a line, so that they are written again."""
        self._numbers.clear()


class ReadTexts:
    """Texts of a log that is read, by number."""

    def __init__(self) -> None:
        self._texts: dict[int, str | None] = {}

    def add(self, line: dict[str, Json]) -> None:
        """Store the texts of a line; every line must be given, in order."""
        for number, text in line.pop("texts", {}).items():
            self._texts[int(number)] = text

    def resolved(self, value: Json) -> Json:
        """Resolve references in a value, to "" for texts that were not written."""
        if isinstance(value, dict):
            if value.keys() == {"w"}:
                return self._texts[value["w"]] or ""
            return {key: self.resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.resolved(item) for item in value]
        return value

    def may_answer_typed(self, start: Json) -> bool:
        """Return True if a `StartResponse` answers the conversation, and so what was typed last: it has no
        turn, no text of the agent's own and no other prompt.
        """
        other_prompt = start.get("own_prompt") or start.get("out_of_band")  # old logs lack these and "say"
        return start["turn_id"] is None and not self.resolved(start.get("say", "")) and not other_prompt


def _shown(text: str, words: Words) -> str | None:
    return _WRITTEN[words](text)


def redacted(text: str) -> str:
    """Return the shape of a text: lower-case letters as x, upper-case as X, digits as 0."""
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
