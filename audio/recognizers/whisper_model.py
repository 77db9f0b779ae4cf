"""A Whisper model in CTranslate2: found or downloaded, loaded, and one decoding of it. All of it blocks."""

from __future__ import annotations

import math
import os
from pathlib import Path
from threading import Event

import numpy as np
from faster_whisper import WhisperModel  # type: ignore[import-untyped]  # ships no types
from huggingface_hub.constants import HF_HUB_CACHE, HF_HUB_OFFLINE

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, RecognizerError
from audio.recognizers.decoding.growing_window import Segment
from audio.recognizers.redecoding import Decode

_FILES = ("model.bin", "config.json", "tokenizer.json")
_MIN_SAMPLES = SAMPLE_RATE_HZ // 10
_TOKENS, _TOKENS_A_SECOND = 24, 12
"""Fast speech has 6 tokens a second, and a segment 2 for its times; more than twice that is a loop."""


class LoadedModel:
    """A model that decodes windows of sound in one language.

    threads: of the processor a decoding uses; 0 takes four, or a core each. workers: decodings at once.
    Raises RecognizerError, which names the model, where it was looked for, and the way out.
    """

    def __init__(
        self,
        model: str,
        device: str,
        compute_type: str,
        language: str | None,
        download_root: Path | None,
        local_files_only: bool,
        threads: int,
        workers: int,
    ) -> None:
        _check_directory(model)
        try:
            self._model = WhisperModel(
                model,
                device=device,
                compute_type=compute_type,
                cpu_threads=threads or min(4, os.cpu_count() or 1),
                num_workers=workers,
                download_root=None if download_root is None else str(download_root),
                local_files_only=local_files_only,
            )
        except Exception as error:  # the hub, its HTTP client and CTranslate2: each has its own
            offline = local_files_only or HF_HUB_OFFLINE
            cache = str(download_root or HF_HUB_CACHE)
            raise RecognizerError(_not_loaded(model, cache, offline, error)) from error
        allowed = self._model.supported_languages
        if language is not None and language not in allowed:
            raise RecognizerError(
                f"whisper: language {language!r} is not in model {model!r}; allowed: {', '.join(allowed)}"
            )
        self._language = language

    def open(self) -> Decode:
        """Every decoding is by itself."""
        return self.decode

    def decode(self, sound: Samples, prompt: str, abandoned: Event) -> list[Segment]:
        """The segments of `sound`, 16 kHz, which follows what `prompt` says.

        Stops early once `abandoned` is set. One try without sampling, and no more tokens than speech has,
        so that its time is bounded.
        """
        if len(sound) < _MIN_SAMPLES:
            return []
        length_s = len(sound) / SAMPLE_RATE_HZ
        found, _ = self._model.transcribe(
            sound.astype(np.float32) / 32_768,
            language=self._language,
            beam_size=1,
            temperature=0.0,
            condition_on_previous_text=False,
            initial_prompt=prompt or None,
            max_new_tokens=min(200, _TOKENS + int(_TOKENS_A_SECOND * length_s)),
        )
        segments = []
        for segment in found:
            confidence = math.exp(min(0.0, segment.avg_logprob))
            segments.append(Segment(segment.text.strip(), min(segment.end, length_s), confidence))
            if abandoned.is_set():
                break
        return segments


def _check_directory(model: str) -> None:
    """A path must be a converted model; a name is for the hub."""
    path = Path(model)
    if not path.is_dir():
        if path.is_absolute() or model.startswith((".", "~")):
            raise RecognizerError(f"whisper: model {model!r} is not a directory")
        return
    if missing := [name for name in _FILES if not (path / name).is_file()]:
        raise RecognizerError(
            f"whisper: model directory {model!r} has no {' and no '.join(missing)}; "
            "ct2-transformers-converter makes one, with --copy_files tokenizer.json preprocessor_config.json"
        )


def _not_loaded(model: str, cache: str, offline: bool, error: Exception) -> str:
    reason = " ".join(str(error).split())
    if isinstance(error, ValueError) or Path(model).is_dir():
        return f"whisper: model {model!r} cannot be loaded: {reason}"
    return (
        f"whisper: model {model!r} is not in {cache!r} and "
        f"{'downloading is switched off' if offline else 'could not be downloaded'}: {reason} Either fill "
        "that folder where there is a network and set HF_HUB_OFFLINE=1 here, or name a folder that has it as "
        "download_root, or give the directory of a converted model as model"
    )
