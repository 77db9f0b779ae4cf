"""Input buffer of one call's audio in the front end."""

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
"""Maximum audio of a stream that may wait for the tick."""
_SAMPLE_BYTES = 2
_ROUNDING = 1e-6


class Window(NamedTuple):
    """32 ms of a caller's audio.

    sound: 512 samples at 16 kHz. energies: mean squares of its loudness windows. probability: of speech; None
    if the stream is not judged. ended: probability that a voice has ended, as opposed to a dip. ended_ago_s:
    seconds since that end.
    """

    sound: Samples
    energies: Sequence[float]
    probability: float | None
    ended: float = 1.0
    ended_ago_s: float = math.inf


OnWindow = Callable[[Window], None]
OnFailure = Callable[[Exception], None]


def report_failure(error: Exception) -> None:
    """Pass an exception to the event loop's exception handler."""
    context = {"message": "taking in a caller's sound failed", "exception": error}
    asyncio.get_running_loop().call_exception_handler(context)


def _ignore(_: Window) -> None:
    pass


class Ticks(Protocol):
    """Interface of `FrontEnd` for its streams."""

    def arm(self, stream: FrontEndStream) -> None:
        """Add a stream with a complete window to the next batch."""

    def disarm(self, stream: FrontEndStream) -> None:
        """Remove a stream from the next batch: it has no complete window any more."""

    def forget(self, stream: FrontEndStream) -> None:
        """Free the slot of a closed stream."""

    def forget_state(self, stream: FrontEndStream) -> None:
        """Reset the model's state of a stream."""


class FrontEndStream:
    """Audio of one call, opened by `FrontEnd.open`.

    slot: index of its model state. on_window: receives each window. on_failure: receives exceptions. judged:
    whether its windows go to the model. quiet: windows of silence since the last loud one. closed: no more
    callbacks.
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
        self._raw = bytearray(_SAMPLE_BYTES * self.filter.reach)  # starts `reach` before the next window

    @property
    def pending_s(self) -> float:
        """Seconds of audio pushed and not yet reported."""
        return (len(self._raw) // _SAMPLE_BYTES - self.filter.reach) / self._rate_hz

    @property
    def has_window(self) -> bool:
        """True if a complete window is waiting."""
        return len(self._raw) >= self._window_bytes

    def push(self, samples: Samples) -> None:
        """Add audio, [n] at the stream's rate. Complete windows reach the callback soon, in order.

        Raises BufferError, and adds nothing, if more than `MAX_PENDING_S` would wait. Ignored after `close`.
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
        """Return the mean squares of whole loudness windows in the first `seconds` of the waiting audio."""
        windows = int(seconds / LOUDNESS_WINDOW_S + _ROUNDING)
        samples = windows * round(LOUDNESS_WINDOW_S * self._rate_hz)
        sound = np.frombuffer(self._raw, np.int16, samples, _SAMPLE_BYTES * self.filter.reach)
        return energies(sound.astype(np.float32)[np.newaxis], self._rate_hz)[0]

    def drain(self) -> Samples:
        """Remove and return the waiting audio, [n] at 16 kHz, to its last sample, without judging it."""
        pending = len(self._raw) // _SAMPLE_BYTES - self.filter.reach
        whole = max(1, -(-pending // self.filter.step))  # the last is zero-padded
        padded: Floats = np.zeros((whole - 1) * self.filter.step + self.filter.width, np.float32)
        padded[: self.filter.reach + pending] = np.frombuffer(self._raw, np.int16)
        windows = np.ascontiguousarray(sliding_window_view(padded, self.filter.width)[:: self.filter.step])
        del self._raw[: _SAMPLE_BYTES * pending]
        self._ticks.disarm(self)
        sound = self.filter.convert(windows).astype(np.int16).reshape(-1)
        return sound[: pending * SAMPLE_RATE_HZ // self._rate_hz]

    def change_rate(self, rate_hz: int) -> None:
        """Change the sample rate. Drops waiting audio: `drain` it before."""
        self._start(rate_hz)
        self._ticks.disarm(self)

    def reset(self) -> None:
        """Drop waiting audio and reset the model's state."""
        self.change_rate(self._rate_hz)
        if not self.closed:
            self._ticks.forget_state(self)

    def close(self) -> None:
        """Stop all callbacks; a second call does nothing."""
        if not self.closed:
            self.reset()
            self.closed = True
            # breaks the reference cycle with their owner
            self.on_window, self.on_failure = _ignore, report_failure
            self._ticks.forget(self)

    def pop_window(self) -> bytearray:
        """Remove and return the next window with its surroundings: [filter.width] samples."""
        window = self._raw[: self._window_bytes]
        del self._raw[: _SAMPLE_BYTES * self.filter.step]
        return window


@cache
def window_filter(rate_hz: int) -> WindowFilter:
    """Return the converter of windows at `rate_hz`. Raises ValueError for a rate without whole windows."""
    return WindowFilter(rate_hz, SAMPLE_RATE_HZ, WINDOW_SAMPLES)
