"""Where words begin, in a text and in the phonemes it became."""

from __future__ import annotations

import re
from collections.abc import Sequence


def text_word_starts(text: str) -> list[int]:
    """The index of the first letter or digit of every word; signs alone are none."""
    return [match.start(1) for match in re.finditer(r"(?<!\S)[^\s\w]*(\w)", text)]


def phoneme_word_starts(phonemes: Sequence[str]) -> list[int]:
    """The index of the first phoneme of every word: words stand between blanks, signs alone are none."""
    starts: list[int] = []
    begin = 0
    for index, phoneme in enumerate([*phonemes, " "]):
        if phoneme == " ":
            if any(map(str.isalpha, phonemes[begin:index])):
                starts.append(begin)
            begin = index + 1
    return starts
