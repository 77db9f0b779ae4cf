"""Builder of the spoken words of a text and their alignment."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from voiceagent.text_normalization.punctuation import KEPT, KEPT_OPENERS, PAUSES, WORD_SEPARATORS

Alignment = tuple[tuple[int, int], ...]

UNSPACED_LETTER = r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
"""Kana and ideographs, scripts without spaces, in which every character may begin a word."""
_UNSPACED = re.compile(UNSPACED_LETTER)


class Spoken:
    """Collector of a text's pieces in order, each with its index `at`, as words to speak or as silence.

    Words of the text are separated by white space; the first spoken piece of a word begins its spoken words.
    origin: the index from which the alignment counts.
    """

    def __init__(self, origin: int = 0) -> None:
        self._origin = origin
        self._pieces: list[str] = []
        self._length = 0
        self._last = ""
        self._pairs: list[tuple[int, int]] = []
        self._word_at: int | None = None
        self._has_pair = False
        self._joins_next = False
        self._space = False
        self._was_rewritten = False

    @property
    def result(self) -> tuple[str, Alignment]:
        """Words so far, "" if none has a letter or a figure, and their alignment."""
        return ("".join(self._pieces), tuple(self._pairs)) if self._pairs else ("", ())

    def add_space(self) -> None:
        """Add white space."""
        self._space = True
        if self._has_pair or not self._joins_next:
            self._end_word()

    def add_silence(self, at: int, joins_next: bool = False) -> None:
        """Add an element that is not spoken.

        It belongs to the word it touches, else to the word before it or, if it `joins_next`, to the one after
        it.
        """
        self._joins_next = joins_next
        if self._word_at is None:
            self._word_at = at

    def add_letters(self, letters: str, at: int) -> None:
        """Add letters that are spoken as written."""
        unspaced = _UNSPACED.match(letters) is not None
        if unspaced and self._has_pair:
            self._end_word()
        self._begin_piece(at, separate=self._was_rewritten and not unspaced)
        self._append(letters)
        self._was_rewritten = False
        if unspaced:
            self._end_word()

    def add_words(self, words: str, at: int, parts: Sequence[tuple[int, int]] = ()) -> None:
        """Add words that replace the text at `at`.

        parts: further words within them, as pairs (index in `words`, index in the text from `at` on).
        """
        self._begin_piece(at, separate=_UNSPACED.match(self._last) is None)
        begin = at - self._origin
        self._pairs += [(self._length + spoken, begin + written) for spoken, written in parts]
        self._append(words)
        self._was_rewritten = True

    def add_mark(self, character: str, at: int) -> None:
        """Add a character that is neither letter nor figure; kept if it affects synthesis."""
        last = self._last
        if character in KEPT or _combines(character):
            self._append(character if last else "")
            return
        if character in KEPT_OPENERS:
            self._append_space()
            self._append(character)
        elif character in PAUSES and last.isalnum():
            self._append("-" if character == "-" and not self._space else ",")
        else:
            self._was_rewritten = self._was_rewritten or character in WORD_SEPARATORS
        self.add_silence(at)

    def keep(self, mark: str) -> None:
        """Add a mark that joins the words around it, as the apostrophe of "l'otto"."""
        self._append(mark)

    def _begin_piece(self, at: int, separate: bool) -> None:
        """Begin a spoken piece. separate: separated from the letters before it."""
        if self._space:
            self._append_space()
        elif separate and self._last.isalnum():
            self._append(" ")
        if not self._has_pair:
            self._pairs.append(
                (self._length, (at if self._word_at is None else self._word_at) - self._origin)
            )
            self._has_pair = True

    def _append(self, spoken: str) -> None:
        """Append to the spoken words, which are a list, as a growing string would be copied for each word."""
        if spoken:
            self._pieces.append(spoken)
            self._length += len(spoken)
            self._last = spoken[-1]

    def _append_space(self) -> None:
        if self._space and self._last:
            self._append(" ")
        self._space = False

    def _end_word(self) -> None:
        self._word_at = None
        self._has_pair = self._joins_next = False


def _combines(character: str) -> bool:
    """Return True if the character belongs to the letter before it, as vowel signs do in Indic scripts."""
    return unicodedata.category(character).startswith("M") or character in "\u200c\u200d"
