"""Where in a text the words stand that a server tells the times of, one after the other. Pure."""

from __future__ import annotations

from audio.agreement import word_key
from audio.synthesizers.pieces import text_word_starts

_SKIPPED = 3
"""Words of the text that a server may leave out, or tell otherwise, in a row."""


class WordPlaces:
    """The words of one text, in order."""

    def __init__(self, text: str) -> None:
        self._words = [
            (start, word_key(text[start:].split(maxsplit=1)[0])) for start in text_word_starts(text)
        ]

    def next(self, word: str) -> int | None:
        """The index in the text of the first letter of the next such word; None where there is none near."""
        key = word_key(word)
        if not any(map(str.isalnum, key)):
            return None
        for index, (start, known) in enumerate(self._words[: _SKIPPED + 1]):
            if known == key:
                del self._words[: index + 1]
                return start
        return None
