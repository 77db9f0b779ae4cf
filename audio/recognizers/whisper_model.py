"""A Whisper model in CTranslate2: download, loading, and decoding. All calls block."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from threading import Event
from typing import Literal

import numpy as np
from ctranslate2 import StorageView, get_cuda_device_count  # type: ignore[import-untyped]
from ctranslate2.models import WhisperGenerationResult  # type: ignore[import-untyped]
from faster_whisper import WhisperModel, available_models  # type: ignore[import-untyped]  # ships no types
from faster_whisper.feature_extractor import FeatureExtractor  # type: ignore[import-untyped]
from faster_whisper.tokenizer import _LANGUAGE_CODES, Tokenizer  # type: ignore[import-untyped]
from huggingface_hub.constants import HF_HUB_CACHE, HF_HUB_OFFLINE

from audio.cuda_libraries import load_libraries
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, ExpectedSpeech, Flush, RecognizerError
from audio.recognizers.decoding.growing_window import (
    Segment,
    has_repetition,
    is_runaway,
    quiet_cuts,
    without_runs,
)
from audio.recognizers.decoding.utterance_language import UtteranceLanguage
from audio.recognizers.redecoding import Decode

ComputeType = Literal[
    "default",
    "auto",
    "int8",
    "int8_float32",
    "int8_float16",
    "int8_bfloat16",
    "int16",
    "float16",
    "bfloat16",
    "float32",
]
"""CTranslate2's names; one that the machine does not support is replaced by the nearest."""
LANGUAGES: tuple[str, ...] = _LANGUAGE_CODES
"""Languages of a multilingual model."""
_FILES = ("model.bin", "config.json", "tokenizer.json")
_VOCABULARIES = ("vocabulary.json", "vocabulary.txt")
_SHORTEST = SAMPLE_RATE_HZ // 10
_TOKENS, _TOKENS_A_SECOND = 24, 12
"""Token limit: fixed part, and per second. Fast speech has 6 a second; more than twice that is a loop."""
_ALL_SAMPLES = 30 * SAMPLE_RATE_HZ
_MIN_SAMPLES, _SILENT_SAMPLES = 8 * SAMPLE_RATE_HZ, 4 * SAMPLE_RATE_HZ
"""Whisper was trained on 30 s and takes as long for any 30 s. With 4 s of silence after the audio, and 8 s in
all, it is as accurate in a quarter of the time; with 1.5 s it repeats some of it.
"""
_STEP_SAMPLES = SAMPLE_RATE_HZ // 50
"""Samples of an encoder state (two frames)."""
_MAX_PROMPT_TOKENS, _MAX_PHRASE_TOKENS = 200, 100
"""Tokens before an utterance, and those of them that likely phrases may take."""
_NO_SPEECH, _UNLIKELY = 0.6, -1.0
"""As in OpenAI's own program: silence if the model says so and finds its own words unlikely."""


def sizes() -> list[str]:
    """Return the names of models that need no owner on the hub."""
    return list(available_models())


class LoadedModel:
    """A model that decodes windows of audio.

    Args:
        model: size, name on the hub, or folder.
        device: "auto", "cpu" or "cuda".
        compute_type: of CTranslate2.
        languages: codes among which the language of each utterance is detected; () for all.
        download_root: the hub's cache.
        local_files_only: never download.
        threads: CPU threads of a decoding; 0 for the smaller of four and the number of cores.
        workers: concurrent decodings.

    Raises:
        RecognizerError: the model cannot be loaded or downloaded; the message names the folder and the
            remedy.
    """

    def __init__(
        self,
        model: str,
        device: str,
        compute_type: str,
        languages: tuple[str, ...],
        download_root: Path | None,
        local_files_only: bool,
        threads: int,
        workers: int,
    ) -> None:
        _check_directory(model)
        try:
            if device == "cuda" or (device == "auto" and get_cuda_device_count()):
                load_libraries()
            self._model = WhisperModel(
                model,
                device=device,
                compute_type=compute_type,
                cpu_threads=threads or min(4, os.cpu_count() or 1),
                num_workers=workers,
                download_root=None if download_root is None else str(download_root),
                local_files_only=local_files_only,
            )
        except Exception as error:  # the hub, its HTTP client and CTranslate2 have exceptions of their own
            offline = local_files_only or HF_HUB_OFFLINE
            cache = str(download_root or HF_HUB_CACHE)
            raise RecognizerError(_loading_error(model, cache, offline, error)) from error
        allowed = self._model.supported_languages
        for code in languages:
            if code not in allowed:
                raise RecognizerError(
                    f"whisper: language {code!r} is not in model {model!r}; allowed: {', '.join(allowed)}"
                )
        self._languages = languages
        self._network = self._model.model
        self._features = FeatureExtractor(feature_size=self._network.n_mels)
        self._vocabulary = Tokenizer(
            self._model.hf_tokenizer, self._network.is_multilingual, "transcribe", (*languages, "en")[0]
        )

    def open(self) -> Decode:
        """Begin an utterance. Decodings are independent of each other."""
        if len(self._languages) > 1:
            return partial(self.decode, language=UtteranceLanguage(self._languages, None))
        return self.decode

    def open_in(self, expected: ExpectedSpeech) -> Decode:
        """Begin an utterance with its call's phrases in each prompt, and in one of `languages`, if there are
        several: the expected one unless another is detected.
        """
        language = UtteranceLanguage(self._languages, expected) if len(self._languages) > 1 else None
        phrases = ", ".join((*expected.phrases, *expected.words))
        return partial(self.decode, language=language, phrases=phrases)

    def decode(
        self,
        sound: Samples,
        prompt: str,
        abandoned: Event,
        flush: Flush | None = None,
        language: UtteranceLanguage | None = None,
        phrases: str = "",
    ) -> list[Segment]:
        """Return the segments of `sound`. More audio changes only the last one.

        Args:
            sound: the window, [n] at 16 kHz.
            prompt: the text before it.
            abandoned: stops early once set.
            flush: ignored.
            language: of the utterance; None for the model's own.
            phrases: words that are likely in this call.
        """
        segments: list[Segment] = []
        begin = 0
        for end in [*quiet_cuts(sound), len(sound)]:
            if end - begin < _SHORTEST or abandoned.is_set():
                break
            before = " ".join([prompt, *(segment.text for segment in segments)])
            text, confidence = self._transcribe(sound[begin:end], before, language, phrases)
            known_confidence = confidence if text else None  # silence must not lower the confidence
            languages = () if language is None else language.probabilities
            segments.append(
                Segment(
                    text, end / SAMPLE_RATE_HZ, known_confidence, final=end < len(sound), languages=languages
                )
            )
            begin = end
        return segments

    def _transcribe(
        self, sound: Samples, prompt: str, language: UtteranceLanguage | None, phrases: str
    ) -> tuple[str, float]:
        """Return the transcript of one piece and the geometric mean of its tokens' probabilities.

        One attempt without sampling, which bounds its time. If that loops or repeats the prompt, as it does
        on wordless audio, a second attempt on 30 s without the prompt. If that loops too, one of its equal
        parts is kept.
        """
        max_tokens = _TOKENS + int(_TOKENS_A_SECOND * len(sound) / SAMPLE_RATE_HZ)
        padded = max(_MIN_SAMPLES, len(sound) + _SILENT_SAMPLES)
        result = self._generate(sound, padded, self._before(phrases, prompt), max_tokens, language)
        text = self._text(result)
        loops = is_runaway(text) or has_repetition(f"{prompt} {text}")
        if loops or len(result.sequences_ids[0]) >= max_tokens:
            result = self._generate(sound, _ALL_SAMPLES, [], max_tokens, language)
            text = self._text(result)
            text = without_runs(text) if is_runaway(text) else text
        score = min(0.0, result.scores[0])
        return "" if result.no_speech_prob > _NO_SPEECH and score < _UNLIKELY else text, math.exp(score)

    def _text(self, result: WhisperGenerationResult) -> str:
        tokens = [token for token in result.sequences_ids[0] if token < self._vocabulary.eot]
        return str(self._vocabulary.decode(tokens)).strip()

    def _generate(
        self,
        sound: Samples,
        samples: int,
        before: list[int],
        max_tokens: int,
        language: UtteranceLanguage | None,
    ) -> WhisperGenerationResult:
        """Run the network on `sound` padded with silence to `samples`. before: see `_before`."""
        window = np.zeros(min(_ALL_SAMPLES, samples // _STEP_SAMPLES * _STEP_SAMPLES), np.float32)
        window[: len(sound)] = sound[: len(window)] / np.float32(32_768)
        features = self._features(window, padding=0)[np.newaxis]
        states = self._network.encode(StorageView.from_array(np.ascontiguousarray(features)))
        if language is not None and not language.settled:
            language.observe(self._detect(states), len(sound) / SAMPLE_RATE_HZ)
        begin = self._prompt(states, before, language)
        return self._network.generate(
            states,
            [begin],
            beam_size=1,
            max_length=len(begin) + max_tokens,
            return_scores=True,
            return_no_speech_prob=True,
        )[0]

    def _detect(self, states: StorageView) -> list[tuple[str, float]]:
        """Return the languages by code, the likeliest first: one step of the decoder."""
        (detected,) = self._network.detect_language(states)
        return [(token.strip("<|>"), probability) for token, probability in detected]

    def _before(self, phrases: str, text: str) -> list[int]:
        """Return the tokens before the language: likely phrases, then earlier text. Whisper looks for words
        in both, as in faster-whisper's `hotwords`.
        """
        likely = self._encoded(phrases)[:_MAX_PHRASE_TOKENS]
        said = self._encoded(text)[-(_MAX_PROMPT_TOKENS - len(likely)) :]
        return [self._vocabulary.sot_prev, *likely, *said] if likely or said else []

    def _encoded(self, text: str) -> list[int]:
        return list(self._vocabulary.encode(f" {text.strip()}")) if text.strip() else []

    def _prompt(
        self, states: StorageView, before: list[int], language: UtteranceLanguage | None
    ) -> list[int]:
        """Return the initial tokens: those before, language, no timestamps."""
        vocabulary = self._vocabulary
        begin = list(vocabulary.sot_sequence)
        code = None if language is None else language.code
        if code is None and not self._languages and self._network.is_multilingual:
            (code, _), *_ = self._detect(states)
        if code is not None:
            begin[1] = vocabulary.tokenizer.token_to_id(f"<|{code}|>")
        return [*before, *begin, vocabulary.no_timestamps]


def _check_directory(model: str) -> None:
    """Check that a path is a converted model; names are left to the hub. Raises RecognizerError."""
    path = Path(model)
    if not path.is_dir():
        if path.is_absolute() or model.startswith((".", "~")):
            raise RecognizerError(f"whisper: model {model!r} is not a directory")
        return
    missing = [name for name in _FILES if not (path / name).is_file()]
    if not any((path / name).is_file() for name in _VOCABULARIES):
        missing.append(" or ".join(_VOCABULARIES))
    if missing:
        raise RecognizerError(
            f"whisper: model directory {model!r} has no {' and no '.join(missing)}; "
            "ct2-transformers-converter makes one, with --copy_files tokenizer.json preprocessor_config.json"
        )


def _loading_error(model: str, cache: str, offline: bool, error: Exception) -> str:
    reason = " ".join(str(error).split())
    if isinstance(error, ValueError) or Path(model).is_dir():
        folder = "" if Path(model).is_dir() else f"; or give a folder, as './{model}'"
        return f"whisper: model {model!r} cannot be loaded: {reason}{folder}"
    return (
        f"whisper: model {model!r} is not in {cache!r} and "
        f"{'downloading is switched off' if offline else 'could not be downloaded'}: {reason} Either fill "
        "that folder where there is a network and set HF_HUB_OFFLINE=1 here, or name a folder that has it as "
        "download_root, or give the directory of a converted model as model"
    )
