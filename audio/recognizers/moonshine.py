"""Moonshine through onnxruntime: English, on any CPU. The tiny model comes in a wheel, the base
model is downloaded.

Jeffries et al., "Moonshine: Speech Recognition for Live Transcription and Voice Commands" (2024): the
encoder's cost follows the length of the audio, unlike Whisper's 30 s at every step. The English models are
MIT.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from audio.recognizers.moonshine_model import LoadedModel
from audio.recognizers.redecoding import RedecodingRecognizer

_MAX_S = 10.0
"""Maximum window; decoding cost grows faster than linearly."""


class MoonshineRecognizer(RedecodingRecognizer):
    """Moonshine on a growing window of each utterance.

    Args:
        model: a folder with encoder_model.ort, decoder_model_merged.ort and tokenizer.bin, such as
            "weights:moonshine-base"; None for the tiny English model of the installed `moonshine-voice`
            wheel.
        adapter: result of `voiceagent adapt`.
        phrases: a text file of phrases that callers are likely to say, as they should be written, one a line:
            sentences with their full stop or question mark, and names without one. They win against words
            that sound alike.
        phrase_weight: their weight, 0 or more.
        vocabulary: words and names that callers are likely to say, anywhere in a sentence. They weigh less
            than `phrases`, and words of one token, which are common, are left out. Without it and without
            `phrases`, the server gives those of the agent's tools and instructions; an empty list disables
            that.
        step_s: new audio that triggers another decoding.
        workers: concurrent decodings, each on one thread.
        second_model: a folder as for `model`. Once a turn is over and can no longer be resumed, this model
            decodes it as a whole, and its words replace those in the history. No answer waits for that.
    """

    def __init__(
        self,
        model: Path | None = None,
        *,
        adapter: Path | None = None,
        phrases: Path | None = None,
        phrase_weight: float = 0.15,
        vocabulary: tuple[str, ...] = (),
        step_s: float = 0.3,
        workers: int = 1,
        second_model: Path | None = None,
    ) -> None:
        if phrase_weight < 0:
            raise ValueError(f"phrase_weight is {phrase_weight}; allowed: 0 or more")
        load = partial(LoadedModel, model, phrases, phrase_weight, adapter, vocabulary)
        load_second = partial(LoadedModel, second_model, phrases, phrase_weight, None, vocabulary)
        super().__init__(
            "moonshine", load, step_s, _MAX_S, workers, None if second_model is None else load_second
        )
        self.takes_expected = True  # phrases of a call
