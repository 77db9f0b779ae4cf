"""A Moonshine model: loading, and transcription of audio. All calls block."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import numpy as np

from audio.pcm import Samples
from audio.recognizers import NOTHING_EXPECTED, SAMPLE_RATE_HZ, ExpectedSpeech, Flush, RecognizerError
from audio.recognizers.completeness import Completeness, completeness_of
from audio.recognizers.decoding.beam_search import BeamSearch, Beginning, Expected
from audio.recognizers.decoding.growing_window import (
    Segment,
    last_pause,
    loud_s,
    quiet_cuts,
    spoken_groups,
    spoken_length,
)
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN, END, read_vocabulary, text_of
from audio.recognizers.moonshine_decoder import Encoder, EncoderDecoder
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_forms import ONE_WORD_S, Form, Forms, is_likely
from audio.recognizers.moonshine_phrases import LikelyPhrases, PhraseBook
from audio.recognizers.moonshine_search import DraftCandidates, accept_draft, finish_search
from audio.recognizers.moonshine_transcripts import may_run_away
from audio.recognizers.redecoding import Decode

_MIN_SAMPLES = SAMPLE_RATE_HZ // 10
_TOKENS_A_SECOND = 6.5  # the paper's bound; more is a repetition loop
_MIN_TOKENS = 8
_OLD_HYPHEN = re.compile(r"(?<=\b[Gg]ood)-(?=bye)|(?<=\b[Tt]o)-(?=(day|morrow|night)\b)")
"""Hyphen of old spellings, which the model writes too and LLMs and patterns do not expect: "to-morrow"."""
_SILENCE_AFTER = SAMPLE_RATE_HZ // 5
"""Samples of silence to append. Audio that breaks off with the voice is recognized worse, and a complete
sentence often gets a comma. With 0.2 s of silence it gets a full stop, and most unfinished ones still a
comma; with 0.4 s nearly all get a full stop.
"""
_REMEMBERED = 32
_TINY_HEADS = 8  # attention heads in a layer of the tiny model's encoder
_WORDLESS = ("you", "")
"""Transcripts that the model, like Whisper, gives silence and steady noise. No turn is that word alone."""


@dataclass(frozen=True, slots=True)
class Transcription:
    """Transcript of audio.

    Attributes:
        tokens: without begin and end marks.
        confidence: geometric mean of the tokens' probabilities.
        complete: see Hypothesis.
    """

    tokens: list[int]
    confidence: float
    complete: float | None


class LoadedModel:
    """A loaded model.

    Args:
        folder: of its files; None for the installed wheel.
        phrases: text file of likely phrases, a sentence or a name a line.
        weight: weight of the phrases.
        adapter: file of corrections of the encoder.
        words: likely words and names.

    Raises:
        RecognizerError: a file cannot be loaded.
    """

    def __init__(
        self,
        folder: Path | None,
        phrases: Path | None = None,
        weight: float = 0.0,
        adapter: Path | None = None,
        words: Sequence[str] = (),
    ) -> None:
        encoder, decoder, vocabulary = model_files(folder)
        self.vocabulary = read_vocabulary(vocabulary.read_bytes())
        self.phrases = PhraseBook(phrases, weight, self.vocabulary, words)
        self._forms = Forms(self.vocabulary, words)
        # after the phrases: it reuses the memory that counting them has freed
        self.network = EncoderDecoder(encoder, decoder, adapter)
        self._completeness = completeness_of(encoder) if adapter is None else None
        self._listener: Encoder | None = None
        if self._completeness is None and adapter is None:
            self._listener, self._completeness = _installed_completeness()

    def open(self) -> Decode:
        """Begin an utterance. Each of its decodings uses the previous transcript as a draft."""
        return Utterance(self).decode

    def open_in(self, expected: ExpectedSpeech) -> Decode:
        """Begin an utterance that may have phrases of its call."""
        return Utterance(self, expected).decode

    def transcribe(
        self,
        sound: Samples,
        draft: list[int],
        abandoned: Event,
        flush: Flush | None = None,
        likely: LikelyPhrases | None = None,
    ) -> Transcription:
        """Return the most likely tokens of `sound`, see `_transcribe_piece`. Dictation is transcribed again
        by groups if the search may have run away, or lost count of equal digits.
        """
        heard = self._transcribe_piece(sound, draft, abandoned, flush, likely)
        if flush is None or not flush.is_special or not may_run_away(self.text(heard.tokens)):
            return heard
        groups = [np.pad(group, (0, _SILENCE_AFTER)) for group in spoken_groups(sound)]
        if len(groups) == 1:
            return heard
        of_groups = [self._transcribe_piece(group, [], abandoned, flush, likely) for group in groups]
        return Transcription(
            [token for group in of_groups for token in group.tokens],
            min(group.confidence for group in of_groups),
            heard.complete,
        )

    def _transcribe_piece(
        self,
        sound: Samples,
        draft: list[int],
        abandoned: Event,
        flush: Flush | None = None,
        likely: LikelyPhrases | None = None,
    ) -> Transcription:
        """Return the most likely tokens of `sound`.

        The draft is processed in one step, and its results are used while its tokens are the only hypothesis
        left: speculative decoding (Leviathan et al., 2023) with the last hypothesis as the draft. While each
        of its tokens is clearly the most likely, no search takes place: for 60 orders with pauses, final
        transcripts take 8.7 steps after the draft instead of 13.2, and of 110 sentences 230 words are wrong
        instead of 228.

        Args:
            sound: [n] at 16 kHz.
            draft: tokens of the previous transcript.
            abandoned: stops the search early once set.
            flush: the flush to answer. If it expects a number the draft is ignored, as drafts are decoded
                without that. If the transcript has other words than it expects, numbers or letters, a second
                search is held to their grammar.
            likely: phrases; None for the server's.
        """
        max_tokens = max(_MIN_TOKENS, int(len(sound) / SAMPLE_RATE_HZ * _TOKENS_A_SECOND))
        states = self.network.encode(sound)
        complete = None
        if self._completeness is not None:
            heard = states if self._listener is None else self._listener.encode(sound)
            complete = self._completeness.probability(heard[0])
        known = self.network.cache_audio(states)
        number = flush is not None and flush.number
        expected = _expected_in(sound, number, likely or self.phrases.of_server)
        search = BeamSearch(BEGIN, END, expected, allow_empty=False)  # wordless audio becomes _WORDLESS
        candidates = DraftCandidates(self.network, known, [BEGIN, *draft[:max_tokens]])
        steps = 0
        if 0 < len(draft) < max_tokens and not number:
            steps = accept_draft(
                search, draft, candidates.after_draft, flush is not None and flush.silence_s > 0.0
            )
        finish_search(search, candidates, steps, max_tokens, abandoned)
        best = search.best
        for form in self._forms_for(sound, flush, best):
            if abandoned.is_set() or (form.prior is None and form.grammar.allows(best.tokens[1:])):
                break
            held = BeamSearch(BEGIN, END, grammar=form.grammar, prior=form.prior)
            candidates = DraftCandidates(self.network, known, [BEGIN], form.grammar.tokens)
            finish_search(held, candidates, 0, max_tokens, abandoned)
            lost = form.is_lost(self.text(list(held.best.tokens[1:-1])))
            if not lost and is_likely(held.best, best, form.a_token):
                best = held.best
                break
        tokens = best.tokens[1:]
        confidence = float(np.exp(best.logarithm / len(tokens)))
        return Transcription([token for token in tokens if token != END], confidence, complete)

    def _forms_for(self, sound: Samples, flush: Flush | None, free: Beginning) -> list[Form]:
        """Return the forms that the transcript may be held to. free: the free one."""
        if flush is None or not flush.is_special:
            return []
        return self._forms.expected(sound, flush, self.text(list(free.tokens[1:])))

    def text(self, tokens: list[int]) -> str:
        """Return the text of `tokens`; "" for the typical transcripts of wordless audio."""
        text = _OLD_HYPHEN.sub("", text_of(tokens, self.vocabulary))
        return "" if text.strip(".!?").lower() in _WORDLESS else text


class Utterance:
    """One utterance; a long one is split where it is quiet. expected: phrases of its call, if any."""

    def __init__(self, model: LoadedModel, expected: ExpectedSpeech = NOTHING_EXPECTED) -> None:
        self._model = model
        self._expected = expected
        self._draft: list[int] = []  # transcript of the last piece, which continues in the next window
        # earlier lengths and transcripts of that piece
        self._earlier: deque[tuple[int, str]] = deque(maxlen=_REMEMBERED)
        self._expecting: Flush | None = None

    def decode(
        self, sound: Samples, before: str, abandoned: Event, flush: Flush | None = None
    ) -> list[Segment]:
        """Return the segments of `sound`. More audio changes only the last one.

        Args:
            sound: the window, [n] at 16 kHz.
            before: earlier text; this model does not use it.
            abandoned: stops early once set.
            flush: the flush to answer, if any.
        """
        segments = []
        begin = 0
        if flush is not None and flush.is_special:  # later partial hypotheses of this turn, too
            self._expecting = Flush(flush.number, spelling=flush.spelling)
        flush = flush or self._expecting
        likely = self._model.phrases.of_call(self._expected.phrases, self._expected.words)
        draft, self._draft = self._draft, []
        for end in [*quiet_cuts(sound), len(sound)]:
            if end - begin < _MIN_SAMPLES or abandoned.is_set():
                break
            final = end < len(sound)
            piece = sound[begin:end] if final else np.pad(sound[begin:], (0, _SILENCE_AFTER))
            heard = self._model.transcribe(piece, draft, abandoned, flush, likely)
            draft, self._draft = [], heard.tokens
            if abandoned.is_set():
                break
            text = self._text(heard.tokens, likely)
            if not final and (omission := self._find_omission(sound[begin:], text)):
                words, at = omission
                segments.append(Segment(words, (begin + at) / SAMPLE_RATE_HZ, heard.confidence, final=True))
                self._earlier.clear()
                heard = self._model.transcribe(piece[at:], [], abandoned, flush, likely)
                text, self._draft = self._text(heard.tokens, likely), heard.tokens
                begin += at
            if final:
                self._earlier.clear()
            else:
                self._earlier.append((end - begin, text))
            segments.append(Segment(text, end / SAMPLE_RATE_HZ, heard.confidence, final, heard.complete))
            begin = end
        return segments

    def _text(self, tokens: list[int], likely: LikelyPhrases) -> str:
        text = self._model.text(tokens)
        return text if likely.names is None else likely.names.correct(text)

    def _find_omission(self, sound: Samples, text: str) -> tuple[str, int] | None:
        """Return the transcript before a long pause, and the sample to continue from, if the model omitted
        what follows.

        It did if the transcript is no longer than the one that ended in the pause.
        """
        pause = last_pause(sound)
        if pause is None:
            return None
        begin, end = pause
        before = [words for length, words in self._earlier if begin <= length <= end + _SILENCE_AFTER]
        if not before or not before[-1] or spoken_length(text) > spoken_length(before[-1]):
            return None
        return before[-1], end


def _expected_in(sound: Samples, number: bool, likely: LikelyPhrases) -> Expected | None:
    """Return the likely phrases for this audio. number: a number is expected."""
    if not number:
        return likely.free
    return likely.number if loud_s(sound) <= ONE_WORD_S else likely.numbers


def _installed_completeness() -> tuple[Encoder, Completeness] | tuple[None, None]:
    """Return the tiny model's encoder, and the network that rates turns by its states, for use beside another
    model; nothing if the wheel is not installed.
    """
    try:
        encoder, _, _ = model_files(None)
    except RecognizerError:
        return None, None
    completeness = completeness_of(encoder)
    return (None, None) if completeness is None else (Encoder(encoder, _TINY_HEADS), completeness)
