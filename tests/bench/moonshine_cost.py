"""Compare the processor time of Moonshine's original files with that of our graphs, step by step.

taskset -c 0 .venv/bin/python tests/bench/moonshine_cost.py RECORDING.wav

Step by step in turn, as a shared machine is not as fast in one minute as in the next.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from audio.onnx.moonshine_graph import decoder_shape
from audio.onnx.runtime import OrtFile, onnx_session
from audio.pcm import Samples
from audio.recognizers.decoding.moonshine_vocabulary import BEGIN
from audio.recognizers.moonshine_decoder import EncoderDecoder
from audio.recognizers.moonshine_files import model_files
from audio.recognizers.moonshine_model import LoadedModel
from audio.resample import resample
from audio.wav import read_wav

RUNS = 60
STATE_SAMPLES = 384


class FileAsItComes:
    """The decoder's own two graphs. states: of a sound, [1, length, hidden]."""

    def __init__(self, decoder: Path, states: np.ndarray) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(str(decoder), options, ["CPUExecutionProvider"])
        self._names = [one.name for one in self._session.get_outputs()][1:]
        shape = decoder_shape(OrtFile(decoder))
        self.empty_cache = [np.zeros((1, shape.heads, 0, shape.size), np.float32)] * len(self._names)
        self._states = states

    def decode_tokens(self, past: list[np.ndarray], tokens: list[list[int]], *, cached: bool) -> Any:
        """Logits, and what is past behind the tokens [texts, count]."""
        inputs = {
            "encoder_hidden_states": self._states.repeat(len(tokens), axis=0),
            "encoder_attention_mask": np.ones(
                (len(tokens), (self._states.shape[1] - 1) * STATE_SAMPLES + 1), np.int64
            ),
            "input_ids": np.array(tokens),
            "use_cache_branch": np.array([cached]),
        }
        names = [name.replace("present", "past_key_values") for name in self._names]
        return self._session.run(None, inputs | dict(zip(names, past, strict=True)))


def main(sound: Samples) -> None:
    """Print milliseconds, median of the runs. sound: [n] at 16 kHz."""
    model = LoadedModel(None)
    encoder, decoder, _ = model_files(None)
    encode = _encoder(encoder, sound)
    states = encode()
    file, ours = FileAsItComes(decoder, states), EncoderDecoder(encoder, decoder)
    text = [BEGIN, *model.transcribe(sound, [], Event()).tokens]
    heard = ours.cache_audio(ours.encode(sound))
    _, *past = file.decode_tokens(file.empty_cache, [text], cached=False)
    _, of_ours = ours.decode_tokens(heard, ours.empty_cache, [text])
    print(f"{len(sound) / 16_000:.1f} s of sound, {len(text)} tokens: {model.text(text[1:])}")
    _compare("the sound", encode, lambda: ours.encode(sound))
    _compare(
        "all tokens at once, and what is known of the sound",
        lambda: file.decode_tokens(file.empty_cache, [text], cached=False),
        lambda: (ours.cache_audio(states), ours.decode_tokens(heard, ours.empty_cache, [text])),
    )
    for texts in (1, 2, 4):
        before, now = ([each.repeat(texts, axis=0) for each in known] for known in (past, of_ours))
        tokens = [text[1:2]] * texts
        _compare(
            f"a token of each of {texts} texts",
            partial(file.decode_tokens, before, tokens, cached=True),
            partial(ours.decode_tokens, heard, now, tokens),
        )


def _compare(name: str, before: Callable[[], Any], now: Callable[[], Any]) -> None:
    pairs = [(_ms(before), _ms(now)) for _ in range(RUNS)]
    first, second = (median(times) for times in zip(*pairs, strict=True))
    print(f"{name}: {first:.1f} ms by the file, {second:.1f} ({second / first:.2f}x)")


def _ms(work: Callable[[], Any]) -> float:
    began_s = time.thread_time()
    work()
    return (time.thread_time() - began_s) * 1000


def _encoder(encoder: Path, sound: Samples) -> Callable[[], np.ndarray]:
    """The states of a sound, by the file as it comes."""
    wave = sound.astype(np.float32)[np.newaxis] / 32_768
    inputs = {"input_values": wave, "attention_mask": np.ones(wave.shape, np.int64)}
    session = onnx_session(encoder)
    return lambda: np.asarray(session.run(None, inputs)[0])


if __name__ == "__main__":
    samples, rate_hz = read_wav(Path(sys.argv[1]))
    main(resample(samples, rate_hz, 16_000))
