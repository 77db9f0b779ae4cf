"""Voice activity detection: how probably a window of sound is speech, for all calls in one run of the model.

The model is Silero VAD (MIT). Its ONNX file lies in the `silero-vad` wheel, which is not imported: it would
bring torch. A window is 512 samples at 16 kHz with the last 64 of the window before it in front, and every
stream has a recurrent state of its own.

It runs on the event loop, by a graph in which a batch is one matrix (`silero_graph`). Measured on one of two
shared cores, a run takes 0.18 ms for one window, 44 us a window for 8 and 32 for `MOST_WINDOWS`, which hold
the loop for 0.5 ms; the loop goes round between two runs. Larger batches would hardly be cheaper a window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # ships no types
from numpy.typing import NDArray

from audio.pcm import Samples
from audio.silero_graph import INPUT_SAMPLES, STATE, STATES, WINDOWS, silero_graph

SAMPLE_RATE_HZ = 16_000
WINDOW_SAMPLES = 512
"""Samples a probability is for, 32 ms."""
MOST_WINDOWS = 16
"""Windows, each of another stream, in one run."""
MOST_PENDING_S = 60.0
"""Sound a stream may be ahead of the model."""

_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES
_MORE_STREAMS = 16
"""Places for states that are made at once."""
_NOTHING_HEARD: Samples = np.zeros(_CONTEXT_SAMPLES, np.int16)
_FULL_SCALE = np.float32(1 / 32_768)

Floats = NDArray[np.float32]


class VadError(Exception):
    """The model could not be loaded; the text says where it was looked for."""


class SileroVad:
    """The model, on one thread."""

    def __init__(self, path: Path | None = None) -> None:
        """`path`: the ONNX file; None finds the one in the installed `silero-vad` wheel."""
        self._path = path
        self._session: Any = None

    def load(self) -> None:
        """Read the model; 20 ms. A second call does nothing. Raises VadError."""
        if self._session is not None:
            return
        path = self._path or installed_model()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            graph = silero_graph(path)
            self._session = onnxruntime.InferenceSession(graph, options, ["CPUExecutionProvider"])
        except KeyError as error:
            raise VadError(f"the VAD model {path} has no weights {error}") from error
        except Exception as error:  # onnxruntime has a dozen exception types without a common base
            raise VadError(f"the VAD model {path} cannot be loaded: {error}") from error

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


class VadStream:
    """The voice activity of one call. Made by `VadBatcher.open`. slot: where the batcher keeps its state."""

    def __init__(self, batcher: VadBatcher, slot: int, on_probability: Callable[[float], None]) -> None:
        self.slot = slot
        self._batcher = batcher
        self._on_probability = on_probability
        self._closed = False
        self._sound = _NOTHING_HEARD  # the context of the next window, then what waits to be judged

    @property
    def pending_s(self) -> float:
        """Seconds of sound pushed and not yet judged."""
        return (len(self._sound) - _CONTEXT_SAMPLES) / SAMPLE_RATE_HZ

    @property
    def missing_samples(self) -> int:
        """More samples that make the next window whole; 0 where one waits."""
        return max(0, INPUT_SAMPLES - len(self._sound))

    @property
    def has_window(self) -> bool:
        """Whether a whole window waits to be judged."""
        return len(self._sound) >= INPUT_SAMPLES

    def push(self, samples: Samples) -> None:
        """Judge more sound, [n] at 16 kHz; its whole windows are told to the callback soon, in order.

        Raises BufferError, and takes none of it, where more than `MOST_PENDING_S` would wait. After `close`
        nothing happens.
        """
        if self._closed:
            return
        if len(self._sound) + len(samples) > MOST_PENDING_S * SAMPLE_RATE_HZ + _CONTEXT_SAMPLES:
            raise BufferError(
                f"{self.pending_s:.1f} s of sound wait to be judged; at most {MOST_PENDING_S} s may"
            )
        self._sound = np.concatenate((self._sound, samples))
        if len(self._sound) >= INPUT_SAMPLES:
            self._batcher.arm(self)

    def reset(self) -> None:
        """Begin afresh: sound that was not judged yet is dropped, what the model remembers is forgotten."""
        self._sound = _NOTHING_HEARD
        if not self._closed:
            self._batcher.forget_state(self)

    def close(self) -> None:
        """Stop: the callback is not called again. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self.reset()
            self._batcher.forget(self)

    def take(self, window: Floats) -> None:
        """Write the next window with its context, in -1..1, into `window` [64 + 512]."""
        np.multiply(self._sound[:INPUT_SAMPLES], _FULL_SCALE, out=window)
        self._sound = self._sound[WINDOW_SAMPLES:]

    def tell(self, probability: float) -> None:
        """Pass on the probability of a window, unless the stream was closed meanwhile."""
        if not self._closed:
            self._on_probability(probability)


class VadBatcher:
    """Judges the windows of all calls together, in one run of the model a tick.

    Only a whole window arms the tick; while none waits nothing runs. A call alone has nobody to wait for: its
    windows are judged at the loop's next turn. The states of all streams stand in one array, out of which a
    batch is copied at once.
    """

    def __init__(self, model: SileroVad | None = None, tick_s: float = 0.008) -> None:
        self._model = model or SileroVad()
        self._tick_s = tick_s
        self._open = 0
        self._waiting: dict[VadStream, None] = {}  # streams with a whole window, in the order they came
        self._armed: asyncio.Handle | None = None
        self._windows: Floats = np.empty((MOST_WINDOWS, INPUT_SAMPLES), np.float32)
        self._states: Floats = np.zeros((2, 0, STATE), np.float32)
        self._free: list[int] = []

    def start(self) -> None:
        """Load the model. Raises VadError."""
        self._model.load()

    def open(self, on_probability: Callable[[float], None]) -> VadStream:
        """A new stream; `on_probability` is called on the event loop for each of its windows, in order.

        What a callback raises goes to the loop's exception handler and touches no other stream.
        """
        if not self._free:
            slots = self._states.shape[1]
            self._states = np.concatenate((self._states, np.zeros((2, _MORE_STREAMS, STATE), np.float32)), 1)
            self._free = list(range(slots, slots + _MORE_STREAMS))
        stream = VadStream(self, self._free.pop(), on_probability)
        self._open += 1
        self.forget_state(stream)
        return stream

    def arm(self, stream: VadStream) -> None:
        """Take a stream with a whole window into the next batch."""
        self._waiting[stream] = None
        if self._armed is None:
            loop = asyncio.get_running_loop()
            alone = self._open == 1
            self._armed = loop.call_soon(self._tick) if alone else loop.call_later(self._tick_s, self._tick)

    def forget(self, stream: VadStream) -> None:
        """Leave a closed stream out of everything to come."""
        self._open -= 1
        self._waiting.pop(stream, None)
        self._free.append(stream.slot)

    def forget_state(self, stream: VadStream) -> None:
        """What the model remembers of a stream is forgotten."""
        self._states[:, stream.slot] = 0.0

    def _tick(self) -> None:
        """Judge one window of each stream that waited longest; the rest follows when the loop went round."""
        self._armed = None
        batch = list(islice(self._waiting, MOST_WINDOWS))
        if not batch:
            return
        for row, stream in enumerate(batch):
            stream.take(self._windows[row])
            del self._waiting[stream]
            if stream.has_window:
                self._waiting[stream] = None
        if self._waiting:
            self._armed = asyncio.get_running_loop().call_soon(self._tick)
        slots = [stream.slot for stream in batch]
        probabilities, states = self._model.run(self._windows[: len(batch)], self._states[:, slots])
        self._states[:, slots] = states
        for stream, probability in zip(batch, probabilities.tolist(), strict=True):
            self._tell(stream, probability)

    @staticmethod
    def _tell(stream: VadStream, probability: float) -> None:
        try:
            stream.tell(probability)
        except Exception as error:  # a callback's own failure, whatever it is
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a voice activity callback failed", "exception": error}
            )
