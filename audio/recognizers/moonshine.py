"""Moonshine through onnxruntime: English, on any CPU. The tiny model comes inside a wheel.

Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice Commands" (2024): an encoder
whose cost follows the length of the sound, unlike Whisper's 30 s at every step. The English models are MIT.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from audio.recognizers.moonshine_model import LoadedModel
from audio.recognizers.redecoding import RedecodingRecognizer

_MAX_S = 10.0
"""Longest window: what decoding costs grows faster than that."""


class MoonshineRecognizer(RedecodingRecognizer):
    """Moonshine on a growing window of each utterance.

    model: a folder with encoder_model.ort, decoder_model_merged.ort and tokenizer.bin; None finds the tiny
    English one in the installed `moonshine-voice` wheel. adapter: what `voiceagent adapt` learned
    from recordings. phrases: a text file of what callers are likely to say, as it should be written, one a
    line: whole sentences with their full stop or question mark, and without one names, wherever they are
    said; of what sounds alike the likelier is heard. phrase_weight: how much that counts. step_s: new
    sound that makes a new decoding worthwhile. workers: decodings at once, each on one thread.
    """

    def __init__(
        self,
        model: Path | None = None,
        *,
        adapter: Path | None = None,
        phrases: Path | None = None,
        phrase_weight: float = 0.15,
        step_s: float = 0.3,
        workers: int = 1,
    ) -> None:
        if phrase_weight < 0:
            raise ValueError(f"phrase_weight is {phrase_weight}; allowed: 0 or more")
        load = partial(LoadedModel, model, phrases, phrase_weight, adapter)
        super().__init__("moonshine", load, step_s, _MAX_S, workers)
