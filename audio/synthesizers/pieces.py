"""Text pieces, word starts and trailing silence.

Texts are cut into pieces so that several texts can take turns on one engine. Word starts are found in the
text, in its phonemes, and in a server's word timestamps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np

from audio.agreement import word_key
from audio.pcm import Samples
from audio.synthesizers.voices import USUAL_SETTINGS, VoiceSettings

SENTENCE_END = re.compile(r"[.!?…]['\"”’)\]]*\s+|\n+")
_SKIPPED = 3
"""Maximum number of consecutive words of the text that a server may omit or spell differently."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a text. character: index of its first character in the text. settings: of the whole text."""

    text: str
    character: int
    settings: VoiceSettings = USUAL_SETTINGS


def pieces(text: str, longest: int, settings: VoiceSettings = USUAL_SETTINGS) -> Iterator[Piece]:
    """Yield `text` in pieces of at most `longest` characters, or whole if it fits.

    Each piece is as long as possible and ends after a sentence; without a sentence end, after a word; within
    a word only if that is longer than `longest`.
    """
    begin = 0
    while len(text) - begin > longest:
        window = text[begin : begin + longest]
        ends = [match.end() for match in SENTENCE_END.finditer(window)]
        cut = ends[-1] if ends else window.rfind(" ") + 1 or longest
        yield Piece(window[:cut], begin, settings)
        begin += cut
    if text[begin:].strip():
        yield Piece(text[begin:], begin, settings)


def text_word_starts(text: str) -> list[int]:
    """Return the index of the first letter or digit of each word; punctuation alone is not a word."""
    return [match.start(1) for match in re.finditer(r"(?<!\S)[^\s\w]*(\w)", text)]


def phoneme_word_starts(phonemes: Sequence[str]) -> list[int]:
    """Return the index of each word's first phoneme. Blanks separate words; punctuation alone is no word."""
    starts: list[int] = []
    begin = 0
    for index, phoneme in enumerate([*phonemes, " "]):
        if phoneme == " ":
            if any(map(str.isalpha, phonemes[begin:index])):
                starts.append(begin)
            begin = index + 1
    return starts


_MARKS = "ˈˌːˑ"
"""Marks of stress, which precede a phoneme, and of length."""


def aligned_word_starts(words: Sequence[str], phonemes: Sequence[str]) -> list[int | None]:
    """Return the index in `phonemes` at which each word begins; None for words that are not found.

    For phonemes that run words together ("on the" is "ɔnðə") or make several of one ("42"): the longest runs
    shared by the text's phonemes and the words' own are matched, without marks.

    Args:
        words: the phonemes of each word when spoken alone.
        phonemes: the phonemes of the text.
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
"""Amplitude below which samples are inaudible, of 32,768."""


class QuietEnd:
    """Shortens the silence at the end of a text: quiet audio is held back until louder audio follows.

    longest: maximum silence at the end, in samples.
    """

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held: list[Samples] = []

    def push(self, samples: Samples) -> Samples:
        """Return the samples up to the last loud one, preceded by those held back; [0] if all are quiet."""
        voiced = np.flatnonzero(np.abs(samples.astype(np.int32)) >= _QUIET)
        if not len(voiced):
            self._held.append(samples)
            return samples[:0]
        end = int(voiced[-1]) + 1
        passed: Samples = np.concatenate([*self._held, samples[:end]])
        self._held = [samples[end:]]
        return passed

    def finish(self) -> Samples:
        """Return the silence at the end, at most `longest` samples."""
        held, self._held = self._held, []
        quiet: Samples = np.concatenate([*held, np.zeros(0, np.int16)])
        return quiet[: self._longest]


class WordPlaces:
    """Maps a server's word timestamps to the words of the text, in order."""

    def __init__(self, text: str) -> None:
        self._words = [
            (start, word_key(text[start:].split(maxsplit=1)[0])) for start in text_word_starts(text)
        ]

    def next(self, word: str) -> int | None:
        """Return the index in the text of the next `word`; None if the next few words differ."""
        key = word_key(word)
        if not any(map(str.isalnum, key)):
            return None
        for index, (start, known) in enumerate(self._words[: _SKIPPED + 1]):
            if known == key:
                del self._words[: index + 1]
                return start
        return None
