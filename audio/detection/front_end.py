"""Recognition front end: turns the audio of all callers into 16 kHz windows with loudness and speech
probability.

An arriving frame is only stored. If it completes a window, the tick is armed; a tick resamples and judges all
waiting windows in one batch: one window at a time, most of the time would go to the calls into numpy.
"""

from __future__ import annotations

import asyncio
import math
from contextvars import Context
from itertools import islice

import numpy as np

from audio.detection.front_end_stream import FrontEndStream, OnFailure, OnWindow, Window, report_failure
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, Floats, SileroVad
from audio.loudness import MIN_ENERGY, energies
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE
from audio.polyphase import WindowFilter

MAX_WINDOWS = 128
"""Maximum number of windows, each of another stream, that one tick converts and reports. A tick makes two
dozen numpy calls, which cost as much as several windows.
"""
MAX_JUDGED = 32
"""Maximum batch size of the model. Larger batches need more memory and are no cheaper per window."""
QUIET_WINDOWS = 16
"""After this many consecutive windows below `MIN_ENERGY` (0.5 s) the model is skipped until one is louder."""

_CONTEXT_SAMPLES = INPUT_SAMPLES - WINDOW_SAMPLES
_MORE_STREAMS = 16
"""Number of state slots to allocate at once."""
_FULL_SCALE = np.float32(1 / 32_768)

Judgement = tuple[float | None, float, float]
"""`probability`, `ended` and `ended_ago_s` of a window."""
SILENCE: Judgement = (0.0, 1.0, math.inf)
NOT_JUDGED: Judgement = (None, 1.0, math.inf)


class FrontEnd:
    """Front end of all calls.

    A complete window is processed at the loop's next turn, but at least `tick_s` after the previous batch. So
    the windows of a few calls do not wait, and those of many are batched. The model's states of all streams
    are in one array, from which a batch is copied at once.
    """

    def __init__(self, model: SileroVad | None = None, tick_s: float = 0.01) -> None:
        self._model = model or SileroVad()
        self._tick_s = tick_s
        self._ticked_s = -tick_s
        self._waiting: dict[FrontEndStream, None] = {}  # streams with a complete window, oldest first
        self._armed: asyncio.Handle | None = None
        self._inputs: Floats = np.empty((MAX_JUDGED, INPUT_SAMPLES), np.float32)
        self._states: Floats = np.zeros((0, STATE), np.float32)
        # the ends of the previous windows, which the model reads before the next ones
        self._contexts: Floats = np.zeros((0, _CONTEXT_SAMPLES), np.float32)
        self._free: list[int] = []

    def start(self) -> None:
        """Load the model. Raises VadError."""
        self._model.load()

    def open(
        self, rate_hz: int, on_window: OnWindow, on_failure: OnFailure = report_failure
    ) -> FrontEndStream:
        """Open a stream; `on_window` is called on the event loop for each of its windows, in order.

        on_failure: receives exceptions of `on_window`, which affect no other stream, and of the model. Raises
        ValueError for a rate without whole windows.
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
        """Add a stream with a complete window to the next batch."""
        self._waiting[stream] = None
        if self._armed is None:
            loop = asyncio.get_running_loop()
            early_s = self._ticked_s + self._tick_s - loop.time()
            alone = Context()  # not that of the call that arms it, which log lines would name
            if early_s > 0:
                self._armed = loop.call_later(early_s, self._tick, context=alone)
            else:
                self._armed = loop.call_soon(self._tick, context=alone)

    def disarm(self, stream: FrontEndStream) -> None:
        """Remove a stream from the next batch: it has no complete window any more."""
        self._waiting.pop(stream, None)

    def forget(self, stream: FrontEndStream) -> None:
        """Free the slot of a closed stream."""
        self._free.append(stream.slot)

    def forget_state(self, stream: FrontEndStream) -> None:
        """Reset the model's state of a stream."""
        stream.quiet = 0
        self._states[stream.slot] = 0.0
        self._contexts[stream.slot] = 0.0

    def _tick(self) -> None:
        """Process one window of each of the longest-waiting streams; the rest at the loop's next turn."""
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
        except Exception as error:  # any exception of the model
            for stream in batch:
                stream.on_failure(error)
            return
        # One conversion for all: a numpy call for each window costs more than its work.
        judged = zip(batch, sound.astype(np.int16), loudnesses, judgements, strict=True)
        for stream, samples, loudness, judgement in judged:
            if stream.closed:  # by an earlier callback
                continue
            try:
                stream.on_window(Window(samples, loudness, *judgement))
            except Exception as error:  # any exception of the callback
                stream.on_failure(error)

    def _end_quiet(self, stream: FrontEndStream) -> None:
        if stream.quiet > QUIET_WINDOWS:
            self._states[stream.slot] = self._model.after_silence
            self._contexts[stream.slot] = 0.0
        stream.quiet = 0

    def _judge(self, batch: list[FrontEndStream], sound: Floats) -> list[Judgement]:
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
    """Return the next window of each stream, [b, 512] at 16 kHz, with one product per sample rate."""
    rows_of: dict[WindowFilter, list[int]] = {}
    for row, stream in enumerate(batch):
        rows_of.setdefault(stream.filter, []).append(row)
    converted: list[tuple[list[int], Floats]] = []
    for converter, rows in rows_of.items():
        windows = np.frombuffer(b"".join([batch[row].pop_window() for row in rows]), np.int16)
        converted.append((rows, converter.convert(windows.reshape(len(rows), -1).astype(np.float32))))
    if len(converted) == 1:  # one rate, as with telephony: already in order
        return converted[0][1]
    sound: Floats = np.empty((len(batch), WINDOW_SAMPLES), np.float32)
    for rows, of_a_rate in converted:
        sound[rows] = of_a_rate
    return sound
