"""Voice activity detection: how probably a window of sound is speech, many windows in one run of the model.

The model is Silero VAD (MIT). Its ONNX file lies in the `silero-vad` wheel, which is not imported: it would
bring torch. A window is 512 samples at 16 kHz with the last 64 of the window before it in front, and every
stream has a recurrent state of its own.

It runs on the event loop, by a graph in which a batch is one matrix (`silero_graph`). Measured on one of two
shared cores, a run takes 0.18 ms for one window, 44 us a window for 8 and 29 for 32, which hold the loop for
0.9 ms. Larger batches would hardly be cheaper a window.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audio.onnx.runtime import onnx_session
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE, STATES, WINDOWS, silero_graph

SAMPLE_RATE_HZ = 16_000
WINDOW_SAMPLES = 512
"""Samples a probability is for, 32 ms."""
_SILENT_WINDOWS = 30
"""A second: the model tells a voice soonest behind about so much silence (`tests/bench/vad_quiet.py`)."""

Floats = NDArray[np.float32]


class VadError(Exception):
    """The model could not be loaded; the text says where it was looked for."""


class SileroVad:
    """The model, on one thread."""

    def __init__(self, path: Path | None = None) -> None:
        """`path`: the ONNX file; None finds the one in the installed `silero-vad` wheel."""
        self._path = path
        self._session: Any = None
        self.after_silence: Floats = np.zeros((2, STATE), np.float32)
        """The state [2, 128] that silence leaves, once the model is loaded."""

    def load(self) -> None:
        """Read the model; 20 ms. A second call does nothing. Raises VadError."""
        if self._session is not None:
            return
        path = self._path or installed_model()
        try:
            self._session = onnx_session(silero_graph(path))
        except KeyError as error:
            raise VadError(f"the VAD model {path} has no weights {error}") from error
        except Exception as error:  # onnxruntime's have no common base
            raise VadError(f"the VAD model {path} cannot be loaded: {error}") from error
        state = self.after_silence[:, np.newaxis]
        for _ in range(_SILENT_WINDOWS):
            _, state = self.run(np.zeros((1, INPUT_SAMPLES), np.float32), state)
        self.after_silence = state[:, 0]

    def run(self, windows: Floats, states: Floats) -> tuple[Floats, Floats]:
        """Probabilities [b] and new states [2, b, 128] of windows [b, 64 + 512] in -1..1 with their states.

        Row for row bit-identical to runs of one window.
        """
        outputs: list[Floats] = self._session.run(None, {WINDOWS: windows, STATES: states})
        return outputs[0][:, 0], outputs[1]


def installed_model() -> Path:
    """The model's file in the `silero-vad` wheel. Raises VadError where that is not installed."""
    package = find_spec("silero_vad")
    if package is None or package.origin is None:
        raise VadError("the VAD model is not installed: pip install --no-deps silero-vad")
    return Path(package.origin).parent / "data" / "silero_vad_16k_op15.onnx"
