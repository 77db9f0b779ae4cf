"""Text to Kokoro's phonemes by espeak-ng, for languages other than English.

The library (GPL-3) is loaded only by the constructor, so that a server can keep it in a separate process.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from audio.synthesizers.english_phonemes import SpokenWord
from audio.synthesizers.espeak_voices import voice_file
from audio.synthesizers.pieces import aligned_word_starts, text_word_starts

# From speak_lib.h of espeak-ng 1.52.
_SYNCHRONOUS, _CHARACTERS_UTF8, _IPA, _TIE = 2, 1, 2, 0x80
_TIED = {
    **{"a^ɪ": "I", "a^ʊ": "W", "e^ɪ": "A", "o^ʊ": "O", "ə^ʊ": "Q", "ɔ^ɪ": "Y"},
    **{"d^z": "ʣ", "d^ʒ": "ʤ", "t^s": "ʦ", "t^ʃ": "ʧ", "s^s": "S", "^": "", "-": ""},
}
"""Diphthongs and affricates as Kokoro's training data has them (misaki, Apache-2.0): one letter each."""
_PUNCTUATION = ';:,.!?—…()"“”'
_OTHER_LANGUAGE = re.compile(r"\([a-z]{2,3}(?:-[a-z]+)*\)")
"""Marks a word that espeak-ng reads as another language's, such as "(en)"."""


class EspeakPhonemes:
    """Phonemes by espeak-ng. At most one instance a process.

    language: a voice of espeak-ng, such as "es" or "pt-br". Raises NoSuchVoice.
    """

    def __init__(self, language: str) -> None:
        import espeakng_loader  # type: ignore[import-untyped]  # noqa: PLC0415  GPL-3; it ships no types

        data = espeakng_loader.get_data_path()
        file = voice_file(language, Path(data))
        self._library = ctypes.CDLL(espeakng_loader.get_library_path())
        self._library.espeak_Initialize(_SYNCHRONOUS, 0, data.encode(), 0)
        self._library.espeak_TextToPhonemes.restype = ctypes.c_char_p
        self._library.espeak_SetVoiceByName(file.encode())

    def __call__(self, text: str) -> list[SpokenWord]:
        """Return the words of a text with their phonemes and punctuation."""
        starts = text_word_starts(text)
        words = [(start, text[start:].split(maxsplit=1)[0]) for start in starts]
        spoken: list[SpokenWord] = []
        for clause in _clauses(words):
            cores = [word.rstrip(_PUNCTUATION) for _, word in clause]
            for (start, word), core, phonemes in zip(clause, cores, self._together(cores), strict=True):
                spoken.append(SpokenWord(start, phonemes + word[len(core) :] if phonemes else ""))
        return spoken

    def _together(self, words: Sequence[str]) -> list[str]:
        """Return the phonemes of each word among the others, which may change it. Where espeak-ng runs
        several together, they are found by the phonemes that they have alone, or count as the word before.
        """
        joined = self._phonemes(" ".join(words))
        groups = joined.split()
        if len(groups) == len(words):
            return groups
        starts = aligned_word_starts([self._phonemes(word) for word in words], joined)
        first = next((number for number, start in enumerate(starts) if start is not None), None)
        if first is None:
            return [joined, *[""] * (len(words) - 1)]
        starts[first] = 0
        found = [start for start in starts if start is not None]
        slices = (joined[begin:end].strip() for begin, end in pairwise([*found, len(joined)]))
        return ["" if start is None else next(slices) for start in starts]

    def _phonemes(self, text: str) -> str:
        """Return the phonemes of a text, in Kokoro's alphabet."""
        left = ctypes.c_char_p(text.replace("\0", " ").encode())
        mode = _IPA | _TIE | ord("^") << 8
        clauses = []
        while left.value is not None:
            made = self._library.espeak_TextToPhonemes(ctypes.byref(left), _CHARACTERS_UTF8, mode)
            clauses.append((made or b"").decode())
        phonemes = _OTHER_LANGUAGE.sub("", " ".join(clauses))
        for tied, letter in _TIED.items():
            phonemes = phonemes.replace(tied, letter)
        return phonemes.strip()


def _clauses(words: Sequence[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    clause: list[tuple[int, str]] = []
    for start, word in words:
        clause.append((start, word))
        if word[-1] in _PUNCTUATION:
            yield clause
            clause = []
    if clause:
        yield clause
