"""Phrases that callers are likely to say, as Moonshine's search takes them: of a server, and of a call."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from pathlib import Path

from audio.recognizers import RecognizerError
from audio.recognizers.decoding.beam_search import Expected
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, numbers_of, tokens_of, word_insides
from audio.recognizers.decoding.names import Names
from audio.recognizers.decoding.near_phrases import NearPhrases
from audio.recognizers.decoding.phrase_bias import Marks, PhraseBias
from audio.recognizers.moonshine_grammars import LONE_NUMBERS, NUMBERS

_JOINING = ("and", "or", "but", "so", "because", "if")
_STOPS = (".", "?", "!")
_WORD_COUNTS = 0.5
"""Weight of a token of a likely word, in tokens of a name."""
_FAREWELL = "Goodbye"
"""Callers of any agent say it, often fast, which sounds like "to buy" or "Dubai". It counts as a name: with a
word's weight, six of ten calls that end in it were misheard, as a growing turn is first decoded without its
end. In return, "a good buy" may become "a goodbye".
"""
_CALLS = 32
"""Calls with phrases of their own for which these are kept ready."""


class LikelyPhrases:
    """The likely phrases of an utterance, by the kind of answer that is expected.

    Args:
        free: those of any answer; None for no phrases.
        names: names of the call, which take the place of words near them.
        with_numbers: returns them plus number words, as names; at most this many in a text.
    """

    def __init__(
        self,
        free: Expected | None,
        names: NearPhrases | None,
        with_numbers: Callable[[Expected | None, float], Expected],
    ) -> None:
        self.free = free
        self.names = names
        self._with_numbers = with_numbers

    # made when the first number is expected, as most calls with phrases of their own have none
    @cached_property
    def numbers(self) -> Expected:
        """Those of a number."""
        return self._with_numbers(self.free, math.inf)

    @cached_property
    def number(self) -> Expected:
        """Those of a number of one word."""
        return self._with_numbers(self.free, 1)


class PhraseBook:
    """The phrases of a server, to which those of a call are added.

    Args:
        phrases: text file of likely phrases, a sentence or a name a line; None for none.
        weight: weight of the phrases.
        vocabulary: of the model.
        words: likely words and names.

    Raises:
        RecognizerError: the file cannot be read.
    """

    def __init__(
        self, phrases: Path | None, weight: float, vocabulary: list[bytes], words: Sequence[str] = ()
    ) -> None:
        self._weight = weight
        self._numbers = numbers_of(vocabulary)
        self._insides = word_insides(vocabulary)
        self._base = None if phrases is None else _read_phrases(phrases, weight, vocabulary)
        if phrases is not None or words:
            likely = self._word_names(words) | self._whole_names((_FAREWELL, _FAREWELL.lower()))
            self._base = self._with_names(self._base, likely)
        self.of_call = lru_cache(_CALLS)(self._of_call)
        """Return the server's phrases plus names and words of one call. Thread-safe."""
        self.of_server = self._of_call((), ())
        """The server's phrases alone."""

    def _of_call(self, names: tuple[str, ...], words: tuple[str, ...]) -> LikelyPhrases:
        free = self._base
        if names or words:
            free = self._with_names(free, self._word_names(words) | self._whole_names(names))
        near = NearPhrases(names, self._is_common) if names else None
        return LikelyPhrases(free, near, self._with_numbers)

    def _is_common(self, word: str) -> bool:
        """Return True for a word of one token."""
        return any(
            len(tokens_of(form, self._numbers)) == 1 for form in (word, word.lower(), word.capitalize())
        )

    def _with_names(self, expected: Expected | None, likely: dict[tuple[int, ...], float]) -> Expected:
        expected = expected or Expected(self._weight)
        names = expected.names or Names({}, self._insides)
        return replace(expected, names=names.and_words(likely))

    def _whole_names(self, names: Sequence[str]) -> dict[tuple[int, ...], float]:
        """Return the tokens of names, as they are to be written, each with the tokens it counts as."""
        spelled = (tuple(tokens_of(name.rstrip(".?! "), self._numbers)) for name in names)
        return {tokens: float(len(tokens)) for tokens in spelled if tokens}

    def _word_names(self, words: Sequence[str]) -> dict[tuple[int, ...], float]:
        """Return the same for words, as far as they have more than one token."""
        spelled = {tuple(tokens_of(form, self._numbers)) for word in words for form in (word, word.lower())}
        return {tokens: _WORD_COUNTS * len(tokens) for tokens in spelled if len(tokens) > 1}

    def _with_numbers(self, expected: Expected | None, most: float) -> Expected:
        """Return `expected` plus number words, which count as names; at most `most` of them in a text."""
        numbers = LONE_NUMBERS if most == 1 else NUMBERS
        words = (word for number in numbers for word in (number, number.capitalize()))
        said = {tuple(tokens_of(word, self._numbers)) for word in words}
        expected = expected or Expected(self._weight)
        names = expected.names or Names({}, self._insides)
        return replace(expected, names=names.and_numbers(said, most))


def _read_phrases(phrases: Path, weight: float, vocabulary: list[bytes]) -> Expected:
    """Return the phrases in a file: sentences, and names, which have no final punctuation."""
    try:
        lines = [line.strip() for line in phrases.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise RecognizerError(f"moonshine: phrases {str(phrases)!r} cannot be read: {error}") from error
    numbers = numbers_of(vocabulary)
    of_word = {word: tokens_of(word, numbers) for word in {word for line in lines for word in line.split()}}
    said = dict.fromkeys(line for line in lines if line)
    sentences, names = (
        [
            array("i", (token for word in line.split() for token in of_word[word]))
            for line in said
            if (line[-1] in _STOPS) == whole
        ]
        for whole in (True, False)
    )
    return Expected(
        weight,
        PhraseBias(sentences, _marks(vocabulary, numbers), len(vocabulary)) if sentences else None,
        Names({tuple(name): len(name) for name in names}, word_insides(vocabulary)) if names else None,
    )


def _marks(vocabulary: list[bytes], numbers: dict[bytes, int]) -> Marks:
    joining = frozenset(token for word in _JOINING for token, *more in [tokens_of(word, numbers)] if not more)
    return Marks(
        BEGIN,
        END,
        commas=frozenset(token for token, text in enumerate(vocabulary) if text == b","),
        stops=frozenset(
            token for token, text in enumerate(vocabulary) if text.decode(errors="replace") in _STOPS
        ),
        joining=joining | {END},  # callers pause within sentences, which are transcribed up to there
    )
