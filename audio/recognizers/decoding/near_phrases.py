"""Phrases in place of words that are nearly written so: "Zintara" where "Zyntara" is expected.

A search that favours a rare name finds its sound, and often not its spelling. Only words that are no common
ones are changed, and "clerk" stays although "Clark" is expected.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

_NEAR = 0.83
"""Minimum similarity of the letters, of 1."""
_MIN_LETTERS = 5
"""Minimum length of a phrase: among shorter ones most words are near to some other."""
_MAX_DIFFERENCE = 2
"""Maximum difference in length, in letters."""
_WORD = re.compile(r"^(?P<before>\W*)(?P<word>.*?)(?P<after>(?:['’]s)?\W*)$")


class NearPhrases:
    """Phrases that take the place of words near them.

    Args:
        phrases: as they are to be written.
        is_common: returns True for a word that callers say whatever the phrases are.
    """

    def __init__(self, phrases: Sequence[str], is_common: Callable[[str], bool]) -> None:
        self._is_common = is_common
        self._phrases = {letters: phrase for phrase in phrases if (letters := _letters(phrase))}
        self._lengths = sorted(
            {count for phrase in phrases for count in _window_lengths(phrase)}, reverse=True
        )

    def correct(self, text: str) -> str:
        """Return a transcript with the phrases in place of words near them."""
        words = text.split()
        corrected: list[str] = []
        at = 0
        while at < len(words):
            length, written = self._found(words, at)
            corrected.append(written)
            at += length
        return " ".join(corrected)

    def _found(self, words: Sequence[str], at: int) -> tuple[int, str]:
        """Return the number of words that a phrase replaces there, 1 for none, and the text."""
        for length in self._lengths:
            window = words[at : at + length]
            if len(window) < length:
                continue
            phrase = self._near("".join(map(_letters, window)), window)
            if phrase is not None:
                before, after = _WORD.match(window[0]), _WORD.match(window[-1])
                assert before is not None and after is not None  # both match any text
                return length, before["before"] + phrase + after["after"]
        return 1, words[at]

    def _near(self, letters: str, window: Sequence[str]) -> str | None:
        """Return the phrase that these letters nearly are. window: their words."""
        common = all(self._is_common(_bare(word)) for word in window)
        if letters in self._phrases and not (common and len(window) == 1):  # "may" is not always "May"
            return self._phrases[letters]
        if common:
            return None
        near = [
            (ratio, phrase)
            for other, phrase in self._phrases.items()
            if other[0] == letters[:1]
            and min(len(other), len(letters)) >= _MIN_LETTERS
            and abs(len(other) - len(letters)) <= _MAX_DIFFERENCE
            and (ratio := SequenceMatcher(None, other, letters).ratio()) >= _NEAR
        ]
        return max(near)[1] if near else None


def _window_lengths(phrase: str) -> range:
    """Return the numbers of words that a phrase may be heard as."""
    count = len(phrase.split())
    return range(max(1, count - 1), count + 2)


def _bare(word: str) -> str:
    """Return a word without punctuation around it, and without a possessive ending."""
    found = _WORD.match(word)
    return found["word"] if found is not None else word


def _letters(text: str) -> str:
    return "".join(letter for word in text.split() for letter in _bare(word).casefold() if letter.isalnum())
