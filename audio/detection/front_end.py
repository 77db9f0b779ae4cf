"""The front end of recognition: the sound of all callers at once becomes windows at 16 kHz with their
loudness and the probability that they are speech.

A frame that arrives is only stored. Where it completes a window the tick is armed, and a tick converts the
rate of all windows that wait, and judges them, in one go: for one window at a time most of the time would go
to the calls into numpy.
"""

from __future__ import annotations

import asyncio
import math
from itertools import islice

import numpy as np

from audio.detection.front_end_stream import FrontEndStream, OnFailure, OnWindow, Window, report_failure
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, Floats, SileroVad
from audio.loudness import MIN_ENERGY, energies
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE
from audio.polyphase import WindowFilter

MAX_WINDOWS = 128
"""Maximum number of windows, each of another stream, that one tick converts and reports. The two dozen calls
into numpy that a tick makes cost as much as several windows.
"""
MAX_JUDGED = 32
"""Maximum number of windows in one run of the model. Larger runs need more memory and cost no less a window.
"""
QUIET_WINDOWS = 16
"""After this many windows in a row below `MIN_ENERGY`, half a second, the model rests until one is louder."""

_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES
_MORE_STREAMS = 16
"""Places for states that are made at once."""
_FULL_SCALE = np.float32(1 / 32_768)

Judgement = tuple[float | None, float, float]
"""A window's `probability`, `ended` and `ended_ago_s`."""
SILENCE: Judgement = (0.0, 1.0, math.inf)
NOT_JUDGED: Judgement = (None, 1.0, math.inf)


class FrontEnd:
    """Takes in the sound of all calls together.

    A whole window is taken at the loop's next turn, but not sooner than `tick_s` after those before it. So
    the windows of a few calls wait for nobody, and those of many are taken together. What the model remembers
    of all streams stands in one array, out of which a batch is copied at once.
    """

    def __init__(self, model: SileroVad | None = None, tick_s: float = 0.01) -> None:
        self._model = model or SileroVad()
        self._tick_s = tick_s
        self._ticked_s = -tick_s
        self._waiting: dict[FrontEndStream, None] = {}  # streams with a whole window, in the order they came
        self._armed: asyncio.Handle | None = None
        self._inputs: Floats = np.empty((MAX_JUDGED, INPUT_SAMPLES), np.float32)
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
        """Take one window of each of the streams that have waited longest; the rest follows at the loop's
        next turn."""
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
            if max(loudness) < MIN_ENERGY:
                stream.quiet += 1
            elif stream.quiet:
                self._end_quiet(stream)
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

    def _end_quiet(self, stream: FrontEndStream) -> None:
        if stream.quiet > QUIET_WINDOWS:
            self._states[stream.slot] = self._model.after_silence
            self._contexts[stream.slot] = 0.0
        stream.quiet = 0

    def _judge(self, batch: list[FrontEndStream], sound: Floats) -> list[Judgement]:
        """What is told of windows [b, 512] of these streams."""
        reported = [SILENCE if stream.judged else NOT_JUDGED for stream in batch]
        loud = [row for row, stream in enumerate(batch) if stream.judged and stream.quiet <= QUIET_WINDOWS]
        for begin in range(0, len(loud), MAX_JUDGED):
            judged = loud[begin : begin + MAX_JUDGED]
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
