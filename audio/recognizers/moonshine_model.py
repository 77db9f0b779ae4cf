"""A Moonshine model: loaded, and what it takes sound to say. All of it blocks."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from threading import Event

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush, RecognizerError
from audio.recognizers.completeness import completeness_of
from audio.recognizers.decoding.beam_search import BeamSearch, Expected, Likeliest
from audio.recognizers.decoding.growing_window import (
    Segment,
    last_pause,
    loud_s,
    quiet_cuts,
    spoken_length,
)
from audio.recognizers.decoding.moonshine_vocabulary import (
    BEGIN,
    END,
    numbers_of,
    read_vocabulary,
    text_of,
    tokens_of,
    word_insides,
)
from audio.recognizers.decoding.names import Names
from audio.recognizers.decoding.phrase_bias import Marks, PhraseBias
from audio.recognizers.moonshine_decoder import EncoderDecoder, KeysValues
from audio.recognizers.redecoding import Decode

_FILES = ("encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin")
_MIN_SAMPLES = SAMPLE_RATE_HZ // 10
_TOKENS_A_SECOND = 6.5  # the paper's bound; more is a loop
_MIN_TOKENS = 8
_SILENCE_AFTER = SAMPLE_RATE_HZ // 5
"""Samples. What breaks off with its voice is heard worse, and a whole sentence often has a comma. With 0.2 s
of silence behind it that has a full stop, and most that go on a comma still; with 0.4 s nearly all a stop.
"""
_REMEMBERED = 32
_JOINING = ("and", "or", "but", "so", "because", "if")
_STOPS = (".", "?", "!")
_NUMBERS = (
    *("zero", "oh", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
    *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
    *("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
)
_ONE_WORD_S = 0.5
"""So little loud sound is one word of a number. Where each word counts, a model that hears the end of one as
another ("Three, three.", less likely by 2.2 to 2.7 nats) is believed.
"""
_NEAR_LEAD, _NEW_TOKENS = -0.25, 2
"""In a pause what a draft found is believed where nothing is likelier by more than a quarter, but for its
last tokens. Settled words of 60 orders that pause take 5.6 steps, not 8.4 as elsewhere, and of 110 sentences
232 words are wrong, not 231.
"""
_WORDLESS = ("you", "")
"""What the model answers silence and steady noise with, as Whisper does. Nobody's turn is that one word."""


def model_files(folder: Path | None) -> list[Path]:
    """The encoder, the decoder and the vocabulary in a folder; None finds those of the installed wheel.

    Raises RecognizerError.
    """
    folder = folder or _installed_model()
    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        raise RecognizerError(f"moonshine: model {str(folder)!r} has no {' and no '.join(missing)}")
    return [folder / name for name in _FILES]


@dataclass(frozen=True, slots=True)
class Transcribed:
    """What a sound says. confidence: the geometric mean of the probabilities of its tokens. complete: as
    Hypothesis has it."""

    tokens: list[int]
    confidence: float
    complete: float | None


class LoadedModel:
    """A model; None finds the one in the installed wheel. Raises RecognizerError.

    phrases: a text file of what people are likely to say, a sentence or a name a line. weight: how much it
    counts. adapter: a file of corrections to the encoder.
    """

    def __init__(
        self,
        folder: Path | None,
        phrases: Path | None = None,
        weight: float = 0.0,
        adapter: Path | None = None,
    ) -> None:
        encoder, decoder, vocabulary = model_files(folder)
        self.vocabulary = read_vocabulary(vocabulary.read_bytes())
        self.expected = None if phrases is None else _expected(phrases, weight, self.vocabulary)
        self.expected_numbers, self.expected_number = (
            _expecting(self.expected, weight, self.vocabulary, most) for most in (math.inf, 1)
        )
        self.network = EncoderDecoder(encoder, decoder, adapter)  # where the others were counted is room now
        self._completeness = completeness_of(encoder) if adapter is None else None

    def open(self) -> Decode:
        """Decodings of one growing utterance, each with the words of the one before as its draft."""
        return Utterance(self).decode

    def transcribe(
        self, sound: Samples, draft: list[int], abandoned: Event, flush: Flush | None = None
    ) -> Transcribed:
        """The likeliest tokens of `sound`, 16 kHz.

        `draft` is read in one step, and what it tells is used wherever its beginning is the only one left:
        speculative decoding (Leviathan et al., 2023) with the last hypothesis as the draft. As far as each of
        its tokens is clearly the likeliest still, nothing is searched for: of 60 orders that pause, settled
        words take 8.7 steps behind the draft, not 13.2, and of 110 sentences 230 words are wrong, not 228.
        flush: what asks for it; no draft knew of a number that it expects.
        """
        max_tokens = max(_MIN_TOKENS, int(len(sound) / SAMPLE_RATE_HZ * _TOKENS_A_SECOND))
        states = self.network.hear(sound)
        complete = None if self._completeness is None else self._completeness.probability(states[0])
        reading = _Reading(self.network, self.network.know(states), [BEGIN, *draft[:max_tokens]])
        number = flush is not None and flush.number
        search = BeamSearch(BEGIN, END, self._likely_in(sound, number))
        told, before = 0, [0]
        if 0 < len(draft) < max_tokens and not number:
            told = _follow(search, draft, reading.behind_draft, flush is not None and flush.silence_s > 0.0)
        while search.live and told < max_tokens:
            before = search.extend(reading.likeliest([one.tokens for one in search.live], before))
            told += 1
            if abandoned.is_set():
                break
        tokens = search.best.tokens[1:]
        confidence = float(np.exp(search.best.logarithm / len(tokens)))
        return Transcribed([token for token in tokens if token != END], confidence, complete)

    def _likely_in(self, sound: Samples, number: bool) -> Expected | None:
        """What is likely to be said in this sound. number: one is expected."""
        if not number:
            return self.expected
        return self.expected_number if loud_s(sound) <= _ONE_WORD_S else self.expected_numbers

    def text(self, tokens: list[int]) -> str:
        """The words of `tokens`; none where they are what the model makes of sound without words."""
        text = text_of(tokens, self.vocabulary)
        return "" if text.strip(".!?").lower() in _WORDLESS else text


def _follow(search: BeamSearch, draft: list[int], likeliest: Likeliest, in_pause: bool) -> int:
    """Begin the search with what is believed of a draft; returns how many tokens that are.

    In a pause somebody waits, and a draft was told of nearly all that was said.
    """
    if not in_pause:
        return search.follow([*draft, END], likeliest)
    old = max(0, len(draft) - _NEW_TOKENS)
    return search.follow(draft[:old], likeliest.of_first(old), _NEAR_LEAD)


class _Reading:
    """What the model makes of the beginnings of a text, of which `drafted` was read at once.

    behind_draft: what is likeliest to follow each beginning of it.
    """

    def __init__(self, network: EncoderDecoder, sound: KeysValues, drafted: list[int]) -> None:
        self._network = network
        self._sound = sound
        self._drafted = tuple(drafted)
        told, self._of_draft = network.read(sound, network.nothing, [drafted])
        self.behind_draft = told.of_text(0)
        self._of_texts = self._of_draft

    def likeliest(self, texts: Sequence[tuple[int, ...]], before: list[int]) -> Likeliest:
        """What is likeliest to follow each, [texts, likeliest].

        texts: of one length, a token longer than those of the call before. before: which of those each begins
        with.
        """
        length = len(texts[0])
        if texts[0] == self._drafted[:length] and len(texts) == 1:
            self._of_texts = self._of_draft
            return self.behind_draft.at(length - 1)
        past = [value[before, :, : length - 1] for value in self._of_texts]
        told, self._of_texts = self._network.read(self._sound, past, [text[-1:] for text in texts])
        return told.behind_last()


class Utterance:
    """One utterance; a long one in pieces that end where it is quiet."""

    def __init__(self, model: LoadedModel) -> None:
        self._model = model
        self._draft: list[int] = []  # the words of the last piece, which goes on in the next window
        self._said: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)  # lengths of that piece, and its words

    def decode(
        self, sound: Samples, before: str, abandoned: Event, flush: Flush | None = None
    ) -> list[Segment]:
        """The pieces of `sound`, of which more sound changes only the last; what was said before it does not
        matter to the model. flush: what asks for it."""
        segments = []
        begin = 0
        draft, self._draft = self._draft, []
        for end in [*quiet_cuts(sound), len(sound)]:
            if end - begin < _MIN_SAMPLES or abandoned.is_set():
                break
            final = end < len(sound)
            piece = sound[begin:end] if final else np.pad(sound[begin:], (0, _SILENCE_AFTER))
            heard = self._model.transcribe(piece, draft, abandoned, flush)
            draft, self._draft = [], heard.tokens
            if abandoned.is_set():
                break
            text = self._model.text(heard.tokens)
            if not final and (left_out := self._left_out(sound[begin:], text)):
                words, at = left_out
                segments.append(Segment(words, (begin + at) / SAMPLE_RATE_HZ, heard.confidence, final=True))
                self._said.clear()
                heard = self._model.transcribe(piece[at:], [], abandoned, flush)
                text, self._draft = self._model.text(heard.tokens), heard.tokens
                begin += at
            if final:
                self._said.clear()
            else:
                self._said.append((end - begin, text))
            segments.append(Segment(text, end / SAMPLE_RATE_HZ, heard.confidence, final, heard.complete))
            begin = end
        return segments

    def _left_out(self, sound: Samples, text: str) -> tuple[str, int] | None:
        """Where nothing is heard of what follows a long pause in the last piece: the words before it, and the
        sample to go on from."""
        pause = last_pause(sound)
        if pause is None:
            return None
        begin, end = pause
        before = [words for length, words in self._said if begin <= length <= end + _SILENCE_AFTER]
        if not before or not before[-1] or spoken_length(text) > spoken_length(before[-1]):
            return None
        return before[-1], end


def _installed_model() -> Path:
    package = find_spec("moonshine_voice")
    if package is None or not package.submodule_search_locations:
        raise RecognizerError(
            "moonshine: no model is installed: pip install --no-deps moonshine-voice==0.0.73, "
            "or give a folder as model"
        )
    return Path(package.submodule_search_locations[0]) / "assets" / "tiny-en"


def _expected(phrases: Path, weight: float, vocabulary: list[bytes]) -> Expected:
    """What a file of phrases makes likely: its sentences, and its lines that are none, which are names."""
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


def _expecting(expected: Expected | None, weight: float, vocabulary: list[bytes], most: float) -> Expected:
    """What is likely where a number was asked for: its words count as names, `most` of them in a text."""
    numbers = numbers_of(vocabulary)
    words = (word for number in _NUMBERS for word in (number, number.capitalize()))
    said = {tuple(tokens_of(word, numbers)) for word in words}
    expected = expected or Expected(weight)
    names = expected.names or Names({}, word_insides(vocabulary))
    return replace(expected, names=names.and_numbers(said, most))


def _marks(vocabulary: list[bytes], numbers: dict[bytes, int]) -> Marks:
    joining = frozenset(token for word in _JOINING for token, *more in [tokens_of(word, numbers)] if not more)
    return Marks(
        BEGIN,
        END,
        commas=frozenset(token for token, text in enumerate(vocabulary) if text == b","),
        stops=frozenset(
            token for token, text in enumerate(vocabulary) if text.decode(errors="replace") in _STOPS
        ),
        joining=joining | {END},  # people pause in the middle, and are heard up to there
    )
