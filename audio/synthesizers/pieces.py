"""A text cut into pieces that an engine speaks one at a time, so that other texts get their turn between;
where words begin, in a text, in the phonemes it became and in what a server tells of it; and sound with a
short pause at its end at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from audio.agreement import word_key
from audio.pcm import Samples

SENTENCE_END = re.compile(r"[.!?…]['\"”’)\]]*\s+|\n+")
_SKIPPED = 3
"""Words of the text that a server may leave out, or tell otherwise, in a row."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text. character: index in the text of its first character. speed: 1.0 is the voice's own."""

    text: str
    character: int
    speed: float = 1.0


def pieces(text: str, longest: int, speed: float = 1.0) -> Iterator[Piece]:
    """`text` in pieces of at most `longest` characters, whole where it fits.

    Each is as long as can be and ends with a sentence, or with a word where no sentence ends within it, or
    in the middle of a word longer than `longest`.
    """
    begin = 0
    while len(text) - begin > longest:
        window = text[begin : begin + longest]
        ends = [match.end() for match in SENTENCE_END.finditer(window)]
        cut = ends[-1] if ends else window.rfind(" ") + 1 or longest
        yield Piece(window[:cut], begin, speed)
        begin += cut
    if text[begin:].strip():
        yield Piece(text[begin:], begin, speed)


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


_MARKS = "ˈˌːˑ"
"""Marks of stress, which stand before a sound, and of length."""


def aligned_word_starts(words: Sequence[str], phonemes: Sequence[str]) -> list[int | None]:
    """The index in `phonemes` at which each of `words` begins, whose own phonemes are given; None of those
    that are not found there.

    For phonemes that run words together ("on the" is "ɔnðə") or make several of one ("42"): the longest runs
    that both share are matched, marks left out.
    """
    said = [index for index, phoneme in enumerate(phonemes) if _is_sound(phoneme)]
    own = [(phoneme, word) for word, sounds in enumerate(words) for phoneme in sounds if _is_sound(phoneme)]
    matcher = SequenceMatcher(
        None, [phoneme for phoneme, _ in own], [phonemes[index] for index in said], autojunk=False
    )
    starts: list[int | None] = [None] * len(words)
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            at, word = block.a + offset, own[block.a + offset][1]
            if at == 0 or own[at - 1][1] != word:
                starts[word] = _with_marks_before(phonemes, said[block.b + offset])
    return starts


def _is_sound(phoneme: str) -> bool:
    return phoneme.isalpha() and phoneme not in _MARKS


def _with_marks_before(phonemes: Sequence[str], index: int) -> int:
    while index and phonemes[index - 1] in _MARKS[:2]:
        index -= 1
    return index


_QUIET = 100
"""Samples below this, of 32,768, are not heard."""


class QuietEnd:
    """Passes sound on, holding back what is quiet at its end until it is known whether more follows.

    longest: samples of quiet that stay at the end.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held: list[Samples] = []

    def push(self, samples: Samples) -> Samples:
        """What can be passed on now; [0] where all of it is quiet."""
        voiced = np.flatnonzero(np.abs(samples.astype(np.int32)) >= _QUIET)
        if not len(voiced):
            self._held.append(samples)
            return samples[:0]
        end = int(voiced[-1]) + 1
        passed: Samples = np.concatenate([*self._held, samples[:end]])
        self._held = [samples[end:]]
        return passed

    def finish(self) -> Samples:
        """The pause at the end."""
        held, self._held = self._held, []
        quiet: Samples = np.concatenate([*held, np.zeros(0, np.int16)])
        return quiet[: self._longest]


class WordPlaces:
    """The words of one text in order, for a server that tells the time of each. Pure."""

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
