"""Probability that a turn is complete, from its audio: Smart Turn v3, run off the event loop.

The model (BSD-2, Daily) takes the last 8 s of the caller as a Whisper log-mel spectrogram. It rates silence
as a complete turn, is sure of some commands cut in the middle and doubts some whole sentences: call it only
after speech, and never let it decide alone. Measured on one of two shared cores, busy: 3 ms for the features,
31-75 ms for the model.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.onnx.runtime import onnx_session
from audio.pcm import Samples

SAMPLE_RATE_HZ = 16_000
MAX_TURN_S = 8
"""Seconds of audio that the model takes; earlier audio is dropped."""

_FFT = 400
_HOP = 160
_MELS = 80

Floats = NDArray[np.float32]


class TurnModelError(Exception):
    """The model cannot be loaded. The message names the file."""


class SmartTurn:
    """The model, on a thread of its own; turns are queued."""

    def __init__(self, model: Path | None = None) -> None:
        """Use the ONNX file `model`; None finds the one in the installed `pipecat-ai` wheel."""
        self._path = model
        self._session: Any = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="smart-turn")

    async def start(self) -> None:
        """Load the model; about 100 ms. Raises TurnModelError."""
        path = self._path or installed_model()
        self._session = await asyncio.get_running_loop().run_in_executor(self._thread, _load, path)

    async def complete(self, samples: Samples) -> float:
        """Return the probability that the turn, [n] at 16 kHz up to its newest sample, is complete.

        Cancelling removes a queued turn.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._judge, samples)

    async def close(self) -> None:
        """Release the thread after the turn in progress; a second call does nothing."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _judge(self, samples: Samples) -> float:
        features = log_mel(samples)[np.newaxis]
        return float(self._session.run(None, {"input_features": features})[0][0, 0])


def log_mel(samples: Samples) -> Floats:
    """Return Whisper's log-mel spectrogram [80, 800] of the last 8 s of `samples` [n], zero-padded at the
    start.

    As in Radford et al. 2022 and `WhisperFeatureExtractor(chunk_length=8)` with `do_normalize`: zero mean and
    unit variance, Hann windows of 25 ms every 10 ms, Slaney mels, log10 cut 8 below the maximum, (x + 4) / 4.
    """
    wanted = MAX_TURN_S * SAMPLE_RATE_HZ
    sound = np.zeros(wanted, np.float32)
    heard = samples[-wanted:]
    sound[wanted - len(heard) :] = heard / np.float32(32_768)
    sound = (sound - sound.mean()) / np.sqrt(sound.var() + np.float32(1e-7))
    padded = np.pad(sound, _FFT // 2, mode="reflect")
    window = np.hanning(_FFT + 1)[:-1].astype(np.float32)  # periodic
    spectrum = np.fft.rfft(sliding_window_view(padded, _FFT)[:-1:_HOP] * window)
    power = spectrum.real**2 + spectrum.imag**2
    # 16 frames at a time: OpenBLAS spreads larger products over all cores, at five times the cost.
    mels = (power.reshape(-1, 16, _FFT // 2 + 1) @ _mel_filters().T).reshape(-1, _MELS).T
    log_mels = np.log10(np.maximum(mels, 1e-10))
    scaled: Floats = (np.maximum(log_mels, log_mels.max() - 8) + 4) / 4
    return scaled


@cache
def _mel_filters() -> Floats:
    """Return triangles of equal area [80, 201] over the FFT's bins, 0 to 8 kHz (Slaney, 1998)."""
    top_mel = 15 + 27 * np.log(8.0) / np.log(6.4)  # of 8 kHz; linear up to 1 kHz at 15 mel, logarithmic above
    mels = np.linspace(0, top_mel, _MELS + 2)
    edges_hz = np.where(mels < 15, mels * 200 / 3, 1_000 * 6.4 ** ((mels - 15) / 27))
    bins_hz = np.linspace(0, SAMPLE_RATE_HZ / 2, _FFT // 2 + 1)
    left, middle, right = (edges_hz[i : i + _MELS, np.newaxis] for i in range(3))
    rising, falling = (bins_hz - left) / (middle - left), (right - bins_hz) / (right - middle)
    triangles: Floats = (np.maximum(0, np.minimum(rising, falling)) * 2 / (right - left)).astype(np.float32)
    return triangles


def installed_model() -> Path:
    """Return the model's file in the `pipecat-ai` wheel. Raises TurnModelError if that is not installed."""
    package = find_spec("pipecat")
    if package is None or not package.submodule_search_locations:
        raise TurnModelError("the turn model is not installed: pip install --no-deps pipecat-ai==1.14.0")
    folder = Path(package.submodule_search_locations[0])
    return folder / "audio" / "turn" / "smart_turn" / "data" / "smart-turn-v3.2-cpu.onnx"


def _load(path: Path) -> Any:
    try:
        return onnx_session(path)
    except Exception as error:  # onnxruntime's have no common base
        raise TurnModelError(f"the turn model {path} cannot be loaded: {error}") from error
