"""Voice activity detection: probability that a window is speech, and that a voice has ended, in batches.

The model is Silero VAD (MIT). Its ONNX file is in the `silero-vad` wheel, which is not imported: it would
bring torch. A window is 512 samples at 16 kHz, preceded by the last 64 of the previous window; every stream
has a recurrent state of its own.

It runs on the event loop, by a graph in which a batch is one matrix (`silero_graph`). Measured on one of two
shared cores, a run takes 0.18 ms for one window, 44 us a window for 8 and 29 for 32, which hold the loop for
0.9 ms. Larger batches would hardly be cheaper per window. These figures exclude the network for the end of a
voice, which is run with it (`tests/bench/results/sound.md`).
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from audio.onnx.runtime import onnx_session
from audio.onnx.silero_graph import INPUT_SAMPLES, JUDGEMENTS, RESULTS, STATE, STATES, WINDOWS, silero_graph

SAMPLE_RATE_HZ = 16_000
WINDOW_SAMPLES = 512
"""Samples of a window, 32 ms."""
_SILENT_WINDOWS = 30
"""One second: the model detects a voice fastest after that much silence (`tests/bench/vad_quiet.py`)."""

Floats = NDArray[np.float32]


class VadError(Exception):
    """The model cannot be loaded. The message names the file."""


class SileroVad:
    """The model, on one thread."""

    def __init__(self, path: Path | None = None) -> None:
        """Use the ONNX file `path`; None finds the one in the installed `silero-vad` wheel."""
        self._path = path
        self._session: Any = None
        self._batches: dict[int, _Batch] = {}  # by batch size
        self.after_silence: Floats = np.zeros(STATE, np.float32)
        """State [320] after silence, once the model is loaded."""

    def load(self) -> None:
        """Load the model; 20 ms. A second call does nothing. Raises VadError."""
        if self._session is not None:
            return
        path = self._path or installed_model()
        try:
            self._session = onnx_session(silero_graph(path))
        except KeyError as error:
            raise VadError(f"the VAD model {path} has no weights {error}") from error
        except Exception as error:  # onnxruntime's have no common base
            raise VadError(f"the VAD model {path} cannot be loaded: {error}") from error
        state = self.after_silence[np.newaxis]
        for _ in range(_SILENT_WINDOWS):
            _, state = self.run(np.zeros((1, INPUT_SAMPLES), np.float32), state)
        self.after_silence = state[0]

    def run(self, windows: Floats, states: Floats) -> tuple[Floats, Floats]:
        """Return the judgements [b, 3] and new states [b, 320] of windows [b, 64 + 512] in -1..1 with their
        states.

        Judgements are the probability of speech, the probability that a voice has ended, and seconds since
        its end. Each row is bit-identical to a run of one window.
        """
        batch = self._batches.get(len(windows))
        if batch is None:
            batch = self._batches[len(windows)] = _Batch(self._session, len(windows))
        return batch.run(windows, states)


class _Batch:
    """Runs of a fixed batch size.

    Inputs and outputs are bound once: with cold caches, as in a process that wakes every 20 ms, a run takes
    0.36 ms instead of 0.38.
    """

    def __init__(self, session: Any, windows: int) -> None:
        self._session, self._binding = session, session.io_binding()
        self._windows: Floats = np.empty((windows, INPUT_SAMPLES), np.float32)
        self._states: Floats = np.empty((windows, STATE), np.float32)
        self._judgements: Floats = np.empty((windows, JUDGEMENTS), np.float32)
        self._new_states: Floats = np.empty((windows, STATE), np.float32)
        for name, array in ((WINDOWS, self._windows), (STATES, self._states)):
            self._binding.bind_input(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)
        for name, array in zip(RESULTS, (self._judgements, self._new_states), strict=True):
            self._binding.bind_output(name, "cpu", 0, np.float32, array.shape, array.ctypes.data)

    def run(self, windows: Floats, states: Floats) -> tuple[Floats, Floats]:
        self._windows[:], self._states[:] = windows, states
        self._session.run_with_iobinding(self._binding)
        return self._judgements.copy(), self._new_states.copy()


def installed_model() -> Path:
    """Return the model's file in the `silero-vad` wheel. Raises VadError if that is not installed."""
    package = find_spec("silero_vad")
    if package is None or package.origin is None:
        raise VadError("the VAD model is not installed: pip install --no-deps silero-vad")
    return Path(package.origin).parent / "data" / "silero_vad_16k_op15.onnx"
