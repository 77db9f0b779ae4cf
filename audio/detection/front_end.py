"""The front end of recognition: the sound of all callers at once becomes windows at 16 kHz with their
loudness and the probability that they are speech.

A frame that arrives is only stored. Where it completes a window the tick is armed, and a tick converts the
rate of all windows that wait, and judges them, in one go: for one window at a time most of the time would go
to the calls into numpy.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, Floats, SileroVad
from audio.loudness import WINDOW_S as LOUDNESS_WINDOW_S
from audio.loudness import energies
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE
from audio.pcm import Samples
from audio.polyphase import WindowFilter

MAX_WINDOWS = 32
"""Windows, each of another stream, in one go."""
MAX_PENDING_S = 60.0
"""How far a stream's sound may be ahead of the tick."""
QUIET_ENERGY = (32_768 * 10 ** (-60 / 20)) ** 2
"""Mean square of a sample; what is quieter, 60 dB below full scale, is no voice."""
QUIET_WINDOWS = 16
"""After this many quiet windows in a row, half a second, the model is not run until one is louder."""

_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES
_MORE_STREAMS = 16
"""Places for states that are made at once."""
_FULL_SCALE = np.float32(1 / 32_768)
_SAMPLE_BYTES = 2
_ROUNDING = 1e-6


class Window(NamedTuple):
    """32 ms of a caller's sound.

    sound: 512 samples at 16 kHz. energies: mean squares of its loudness windows. probability: that it is
    speech; None where the stream is not judged. ended: that a voice has ended, which is not just low for a
    moment. ended_ago_s: where it has, how long ago.
    """

    sound: Samples
    energies: Sequence[float]
    probability: float | None
    ended: float = 1.0
    ended_ago_s: float = math.inf


Judgement = tuple[float | None, float, float]
"""A window's `probability`, `ended` and `ended_ago_s`."""
SILENCE: Judgement = (0.0, 1.0, math.inf)
NOT_JUDGED: Judgement = (None, 1.0, math.inf)

OnWindow = Callable[[Window], None]
OnFailure = Callable[[Exception], None]


def report_failure(error: Exception) -> None:
    """What failed goes to the exception handler of the event loop."""
    context = {"message": "taking in a caller's sound failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)


def _ignore(_: Window) -> None:
    """Nobody is told of windows any more."""


class FrontEndStream:
    """The sound of one call. Made by `FrontEnd.open`. slot: where what the model remembers of it stands.
    on_window: given each window. on_failure: given what kept one from being taken in. judged: whether its
    windows are given to the model. quiet: windows of silence since it was last loud. closed: nothing is
    reported any more.
    """

    def __init__(
        self, front_end: FrontEnd, slot: int, rate_hz: int, on_window: OnWindow, on_failure: OnFailure
    ) -> None:
        self.slot = slot
        self.on_window = on_window
        self.on_failure = on_failure
        self.judged = True
        self.quiet = 0
        self.closed = False
        self._front_end = front_end
        self._start(rate_hz)

    def _start(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        self.filter = window_filter(rate_hz)
        self._window_bytes = _SAMPLE_BYTES * self.filter.width
        self._max_bytes = _SAMPLE_BYTES * (round(MAX_PENDING_S * rate_hz) + self.filter.reach)
        self._raw = bytearray(_SAMPLE_BYTES * self.filter.reach)  # from `reach` before the next window

    @property
    def pending_s(self) -> float:
        """Seconds of sound pushed and not yet reported."""
        return (len(self._raw) // _SAMPLE_BYTES - self.filter.reach) / self._rate_hz

    @property
    def has_window(self) -> bool:
        """Whether a whole window waits."""
        return len(self._raw) >= self._window_bytes

    def push(self, samples: Samples) -> None:
        """Take more sound, [n] at the stream's rate; its whole windows are handed to the callback soon, in
        order.

        Raises BufferError, and takes none of it, where more than `MAX_PENDING_S` would wait. After `close`
        nothing happens.
        """
        if self.closed:
            return
        if len(self._raw) + samples.nbytes > self._max_bytes:
            raise BufferError(
                f"{self.pending_s:.1f} s of sound wait to be judged; at most {MAX_PENDING_S} s may"
            )
        self._raw += samples.data
        if len(self._raw) >= self._window_bytes:
            self._front_end.arm(self)

    def energies(self, seconds: float) -> list[float]:
        """Mean squares of the whole loudness windows in the first `seconds` of the sound that waits."""
        windows = int(seconds / LOUDNESS_WINDOW_S + _ROUNDING)
        samples = windows * round(LOUDNESS_WINDOW_S * self._rate_hz)
        sound = np.frombuffer(self._raw, np.int16, samples, _SAMPLE_BYTES * self.filter.reach)
        return energies(sound.astype(np.float32)[np.newaxis], self._rate_hz)[0]

    def drain(self) -> Samples:
        """The sound that waits, [n] at 16 kHz, to its last sample: neither judged nor reported any more."""
        pending = len(self._raw) // _SAMPLE_BYTES - self.filter.reach
        whole = max(1, -(-pending // self.filter.step))  # the last is filled up with silence
        padded: Floats = np.zeros((whole - 1) * self.filter.step + self.filter.width, np.float32)
        padded[: self.filter.reach + pending] = np.frombuffer(self._raw, np.int16)
        windows = np.ascontiguousarray(sliding_window_view(padded, self.filter.width)[:: self.filter.step])
        del self._raw[: _SAMPLE_BYTES * pending]
        self._front_end.disarm(self)
        sound = self.filter.convert(windows).astype(np.int16).reshape(-1)
        return sound[: pending * SAMPLE_RATE_HZ // self._rate_hz]

    def change_rate(self, rate_hz: int) -> None:
        """Go on with sound of another rate. What waits is dropped: `drain` it before."""
        self._start(rate_hz)
        self._front_end.disarm(self)

    def reset(self) -> None:
        """Begin afresh: sound that waits is dropped, what the model remembers is forgotten."""
        self.change_rate(self._rate_hz)
        if not self.closed:
            self._front_end.forget_state(self)

    def close(self) -> None:
        """Stop: the callback is not called again. A second call does nothing."""
        if not self.closed:
            self.reset()
            self.closed = True
            self.on_window, self.on_failure = _ignore, report_failure  # whoever is told may hold this stream
            self._front_end.forget(self)

    def take(self) -> bytearray:
        """The next window, with what lies around it: [filter.width] samples."""
        window = self._raw[: self._window_bytes]
        del self._raw[: _SAMPLE_BYTES * self.filter.step]
        return window


@cache
def window_filter(rate_hz: int) -> WindowFilter:
    """What makes windows of sound at `rate_hz`. Raises ValueError for a rate without whole windows."""
    return WindowFilter(rate_hz, SAMPLE_RATE_HZ, WINDOW_SAMPLES)


class FrontEnd:
    """Takes in the sound of all calls together.

    A whole window is taken at the loop's next turn, but not sooner than `tick_s` after those before it: so
    few calls wait for nobody, and the windows of many are taken together. What the model remembers of all
    streams stands in one array, out of which a batch is copied at once.
    """

    def __init__(self, model: SileroVad | None = None, tick_s: float = 0.01) -> None:
        self._model = model or SileroVad()
        self._tick_s = tick_s
        self._ticked_s = -tick_s
        self._waiting: dict[FrontEndStream, None] = {}  # streams with a whole window, in the order they came
        self._armed: asyncio.Handle | None = None
        self._inputs: Floats = np.empty((MAX_WINDOWS, INPUT_SAMPLES), np.float32)
        self._states: Floats = np.zeros((0, STATE), np.float32)
        self._contexts: Floats = np.zeros((0, _CONTEXT_SAMPLES), np.float32)  # the ends of the last windows
        self._free: list[int] = []

    def start(self) -> None:
        """Load the model. Raises VadError."""
        self._model.load()

    def open(
        self, rate_hz: int, on_window: OnWindow, on_failure: OnFailure = report_failure
    ) -> FrontEndStream:
        """A new stream; `on_window` is called on the event loop for each of its windows, in order.

        on_failure: is given what `on_window` raises, which touches no other stream, and what the model
        raises. Raises ValueError for a rate without whole windows.
        """
        if not self._free:
            slots = len(self._contexts)
            self._states = np.pad(self._states, ((0, _MORE_STREAMS), (0, 0)))
            self._contexts = np.pad(self._contexts, ((0, _MORE_STREAMS), (0, 0)))
            self._free = list(range(slots, slots + _MORE_STREAMS))
        stream = FrontEndStream(self, self._free[-1], rate_hz, on_window, on_failure)
        self._free.pop()
        self.forget_state(stream)
        return stream

    def arm(self, stream: FrontEndStream) -> None:
        """Take a stream with a whole window into the next batch."""
        self._waiting[stream] = None
        if self._armed is None:
            loop = asyncio.get_running_loop()
            early_s = self._ticked_s + self._tick_s - loop.time()
            self._armed = loop.call_later(early_s, self._tick) if early_s > 0 else loop.call_soon(self._tick)

    def disarm(self, stream: FrontEndStream) -> None:
        """Leave a stream that has no whole window any more out of the next batch."""
        self._waiting.pop(stream, None)

    def forget(self, stream: FrontEndStream) -> None:
        """Give the place of a closed stream to another."""
        self._free.append(stream.slot)

    def forget_state(self, stream: FrontEndStream) -> None:
        """What the model remembers of a stream is forgotten."""
        stream.quiet = 0
        self._states[stream.slot] = 0.0
        self._contexts[stream.slot] = 0.0

    def _tick(self) -> None:
        """Tell one window of each stream that waited longest; the rest follows when the loop went round."""
        self._armed = None
        self._ticked_s = asyncio.get_running_loop().time()
        batch = list(islice(self._waiting, MAX_WINDOWS))
        if not batch:
            return
        sound = _converted(batch)
        for stream in batch:
            del self._waiting[stream]
            if stream.has_window:
                self._waiting[stream] = None
        if self._waiting:
            self._armed = asyncio.get_running_loop().call_soon(self._tick)
        loudnesses = energies(sound, SAMPLE_RATE_HZ)
        for stream, loudness in zip(batch, loudnesses, strict=True):
            self._count_quiet(stream, max(loudness) < QUIET_ENERGY)
        try:
            judgements = self._judge(batch, sound)
        except Exception as error:  # of the model's, whatever it is
            for stream in batch:
                stream.on_failure(error)
            return
        # Converted for all at once: a call into numpy for each window costs more than its work.
        judged = zip(batch, sound.astype(np.int16), loudnesses, judgements, strict=True)
        for stream, samples, loudness, judgement in judged:
            if stream.closed:  # by a callback before this one
                continue
            try:
                stream.on_window(Window(samples, loudness, *judgement))
            except Exception as error:  # a callback's own failure, whatever it is
                stream.on_failure(error)

    def _count_quiet(self, stream: FrontEndStream, quiet: bool) -> None:
        if quiet:
            stream.quiet += 1
            return
        if stream.quiet > QUIET_WINDOWS:
            self._states[stream.slot] = self._model.after_silence
            self._contexts[stream.slot] = 0.0
        stream.quiet = 0

    def _judge(self, batch: list[FrontEndStream], sound: Floats) -> list[Judgement]:
        """What is told of windows [b, 512] of these streams."""
        reported = [SILENCE if stream.judged else NOT_JUDGED for stream in batch]
        judged = [row for row, stream in enumerate(batch) if stream.judged and stream.quiet <= QUIET_WINDOWS]
        if judged:
            slots = np.array([batch[row].slot for row in judged])
            inputs = self._inputs[: len(judged)]
            inputs[:, :_CONTEXT_SAMPLES] = self._contexts[slots]
            np.multiply(sound[judged], _FULL_SCALE, out=inputs[:, _CONTEXT_SAMPLES:])
            self._contexts[slots] = inputs[:, -_CONTEXT_SAMPLES:]
            judgements, self._states[slots] = self._model.run(inputs, self._states[slots])
            for row, judgement in zip(judged, judgements.tolist(), strict=True):
                reported[row] = tuple(judgement)
        return reported


def _converted(batch: list[FrontEndStream]) -> Floats:
    """The next window of each stream, [b, 512] at 16 kHz; streams of one rate go through one product."""
    rows_of: dict[WindowFilter, list[int]] = {}
    for row, stream in enumerate(batch):
        rows_of.setdefault(stream.filter, []).append(row)
    converted: list[tuple[list[int], Floats]] = []
    for converter, rows in rows_of.items():
        windows = np.frombuffer(b"".join([batch[row].take() for row in rows]), np.int16)
        converted.append((rows, converter.convert(windows.reshape(len(rows), -1).astype(np.float32))))
    if len(converted) == 1:  # as on a phone line: they are in their order already
        return converted[0][1]
    sound: Floats = np.empty((len(batch), WINDOW_SAMPLES), np.float32)
    for rows, of_a_rate in converted:
        sound[rows] = of_a_rate
    return sound
