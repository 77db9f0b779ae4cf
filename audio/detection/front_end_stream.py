"""The sound of one call on its way into the front end: what has arrived and waits for a whole window."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, Floats
from audio.loudness import WINDOW_S as LOUDNESS_WINDOW_S
from audio.loudness import energies
from audio.pcm import Samples
from audio.polyphase import WindowFilter

MAX_PENDING_S = 60.0
"""Seconds of a stream's sound that may wait for the tick."""
_SAMPLE_BYTES = 2
_ROUNDING = 1e-6


class Window(NamedTuple):
    """32 ms of a caller's sound.

    sound: 512 samples at 16 kHz. energies: mean squares of its loudness windows. probability: that it is
    speech; None where the stream is not judged. ended: how probably a voice has ended, and is not just low
    for a moment. ended_ago_s: where it has, how long ago.
    """

    sound: Samples
    energies: Sequence[float]
    probability: float | None
    ended: float = 1.0
    ended_ago_s: float = math.inf


OnWindow = Callable[[Window], None]
OnFailure = Callable[[Exception], None]


def report_failure(error: Exception) -> None:
    """What failed goes to the exception handler of the event loop."""
    context = {"message": "taking in a caller's sound failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)


def _ignore(_: Window) -> None:
    """Nobody is told of windows any more."""


class Ticks(Protocol):
    """What takes the whole windows of all streams, tick by tick: the `FrontEnd`."""

    def arm(self, stream: FrontEndStream) -> None:
        """Take a stream with a whole window into the next batch."""

    def disarm(self, stream: FrontEndStream) -> None:
        """Leave a stream that has no whole window any more out of the next batch."""

    def forget(self, stream: FrontEndStream) -> None:
        """Give the place of a closed stream to another."""

    def forget_state(self, stream: FrontEndStream) -> None:
        """What the model remembers of a stream is forgotten."""


class FrontEndStream:
    """The sound of one call. Made by `FrontEnd.open`. slot: where what the model remembers of it stands.
    on_window: given each window. on_failure: given what kept one from being taken in. judged: whether its
    windows are given to the model. quiet: windows of silence since it was last loud. closed: nothing is
    reported any more.
    """

    def __init__(
        self, ticks: Ticks, slot: int, rate_hz: int, on_window: OnWindow, on_failure: OnFailure
    ) -> None:
        self.slot = slot
        self.on_window = on_window
        self.on_failure = on_failure
        self.judged = True
        self.quiet = 0
        self.closed = False
        self._ticks = ticks
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
            self._ticks.arm(self)

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
        self._ticks.disarm(self)
        sound = self.filter.convert(windows).astype(np.int16).reshape(-1)
        return sound[: pending * SAMPLE_RATE_HZ // self._rate_hz]

    def change_rate(self, rate_hz: int) -> None:
        """Go on with sound of another rate. What waits is dropped: `drain` it before."""
        self._start(rate_hz)
        self._ticks.disarm(self)

    def reset(self) -> None:
        """Begin afresh: sound that waits is dropped, what the model remembers is forgotten."""
        self.change_rate(self._rate_hz)
        if not self.closed:
            self._ticks.forget_state(self)

    def close(self) -> None:
        """Stop: the callback is not called again. A second call does nothing."""
        if not self.closed:
            self.reset()
            self.closed = True
            self.on_window, self.on_failure = _ignore, report_failure  # whoever is told may hold this stream
            self._ticks.forget(self)

    def take(self) -> bytearray:
        """The next window, with what lies around it: [filter.width] samples."""
        window = self._raw[: self._window_bytes]
        del self._raw[: _SAMPLE_BYTES * self.filter.step]
        return window


@cache
def window_filter(rate_hz: int) -> WindowFilter:
    """What makes windows of sound at `rate_hz`. Raises ValueError for a rate without whole windows."""
    return WindowFilter(rate_hz, SAMPLE_RATE_HZ, WINDOW_SAMPLES)
