"""Moonshine through onnxruntime: English, on any CPU. The tiny model comes inside a wheel.

Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice Commands" (2024): an encoder
whose cost follows the length of the sound, unlike Whisper's 30 s at every step. The English models are MIT.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from audio.recognizers.moonshine_model import LoadedModel
from audio.recognizers.redecoding import RedecodingRecognizer

_LONGEST_S = 10.0
"""What decoding costs grows faster than the window."""


class MoonshineRecognizer(RedecodingRecognizer):
    """Moonshine on a growing window of each utterance.

    model: a folder with encoder_model.ort, decoder_model_merged.ort and tokenizer.bin; None finds the tiny
    English one in the installed `moonshine-voice` wheel. step_s: new sound that makes a new decoding
    worthwhile. workers: decodings at once, each on one thread.
    """

    def __init__(self, model: Path | None = None, *, step_s: float = 0.3, workers: int = 1) -> None:
        super().__init__("moonshine", partial(LoadedModel, model), step_s, _LONGEST_S, workers)
