"""Sample rate conversion by one matrix product, of a stream's chunk or of windows of many streams. Pure.

The filter is a sinc in Kaiser's window (J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
window function", 1974) in polyphase form: an output sample is a weighted sum of the input around it, and the
weights repeat with the period of the two rates. A row of the product is a block of whole periods. Rates with
a long period, which calls and voices do not have, but files may, are converted sample by sample from the same
weights.
"""

from __future__ import annotations

from functools import cache
from math import ceil, gcd

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from audio.pcm import Samples

CROSSINGS = 16
"""Zero crossings of the sinc on either side, at the lower rate: 2 ms at 8 kHz."""
CUT_OFF = 0.95
"""Where the filter is down by half, as a part of the lower rate's band."""
KAISER_BETA = 8.0
"""Side lobes 80 dB down."""
ROW_SAMPLES = 32
"""Least output samples of a row: shorter rows are more overhead, longer ones more multiplying by zero."""
MAX_WEIGHTS = 1 << 18
"""Most weights of a matrix, 2 MB; where a period takes more, the ratio is not simple, and a matrix no faster.
"""
_FINENESS = 1 << 20
"""Weights are whole multiples of its inverse. So sums of weighted 16-bit samples are exact, and the same in
whatever order they are made: how a stream is cut changes no sample."""

Floats = NDArray[np.float64]

_NO_SAMPLES: Samples = np.zeros(0, np.int16)
_MIN, _MAX = np.float64(-32_768), np.float64(32_767)  # of a 16-bit sample; numpy takes its own type faster


def is_simple(from_hz: int, to_hz: int) -> bool:
    """Whether the rates have a period short enough for a matrix."""
    inputs, outputs, reach = _row(from_hz, to_hz)
    return (inputs + 2 * reach) * outputs <= MAX_WEIGHTS


class PolyphaseFilter:
    """Converts one mono stream between rates of a simple ratio. Sample k of the output stands at k / to_hz
    seconds.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz, self._to_hz = from_hz, to_hz
        self._inputs, self._outputs, self._reach = _row(from_hz, to_hz)
        self._weights = _weights(from_hz, to_hz)
        self._waiting: Floats = np.zeros(self._reach)  # from `reach` before the row that is not complete
        self._handed_out = 0  # output samples of that row that were handed out already

    def push(self, samples: Samples) -> Samples:
        """What became ready with `samples` [n]: the filter holds back 2 ms at most."""
        # Input samples that have all that is around them:
        known = len(self._waiting) + len(samples) - 2 * self._reach
        ready = known * self._to_hz // self._from_hz + 1 if known >= 0 else 0
        return self._convert(samples, ready)

    def finish(self) -> Samples:
        """What is left of the stream; silence follows it."""
        left = (len(self._waiting) - self._reach) * self._to_hz / self._from_hz
        return self._convert(_NO_SAMPLES, ceil(left))

    def _convert(self, samples: Samples, ready: int) -> Samples:
        """The first `ready` samples from the row on, less those that were handed out before."""
        rows = -(-ready // self._outputs)
        width = self._inputs + 2 * self._reach
        held = len(self._waiting)
        known = held + len(samples)
        sound = np.zeros(max(known, (rows - 1) * self._inputs + width))
        sound[:held] = self._waiting
        sound[held:known] = samples
        stride = sound.itemsize
        windows = np.ndarray((rows, width), sound.dtype, sound, strides=(self._inputs * stride, stride))
        converted = (windows @ self._weights).reshape(-1)[self._handed_out : ready]
        complete, self._handed_out = divmod(ready, self._outputs)
        self._waiting = sound[complete * self._inputs : known]
        return _to_samples(converted)


class AnyRatioFilter:
    """Converts one mono stream between any two rates; where their ratio is simple, to the same samples as
    `PolyphaseFilter`. A chunk of 20 ms takes 0.2 ms, and the first use of a pair of rates up to a second.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        common = gcd(from_hz, to_hz)
        self._from, self._to = from_hz // common, to_hz // common
        self._weights = _weights_of_phases(from_hz, to_hz)
        self._taps = self._weights.shape[1]
        self._reach = self._taps // 2
        self._waiting: Floats = np.zeros(self._reach)  # from `reach` before the next output sample
        self._phase = 0  # where that stands behind an input sample, in parts of 1 / to

    def push(self, samples: Samples) -> Samples:
        """What became ready with `samples` [n]: the filter holds back 2 ms at most."""
        known = len(self._waiting) + len(samples) - 2 * self._reach
        ready = (known * self._to - self._phase) // self._from + 1 if known >= 0 else 0
        return self._convert(samples, max(0, ready))

    def finish(self) -> Samples:
        """What is left of the stream; silence follows it."""
        left = (len(self._waiting) - self._reach) * self._to - self._phase
        return self._convert(_NO_SAMPLES, max(0, -(-left // self._from)))

    def _convert(self, samples: Samples, ready: int) -> Samples:
        sound: Floats = np.concatenate((self._waiting, samples, np.zeros(self._taps)))
        begins, phases = np.divmod(self._phase + np.arange(ready) * self._from, self._to)
        windows = sliding_window_view(sound, self._taps)[begins]
        converted: Floats = np.einsum("nt,nt->n", windows, self._weights[phases])
        done, self._phase = divmod(self._phase + ready * self._from, self._to)
        self._waiting = sound[done : len(self._waiting) + len(samples)]
        return _to_samples(converted)


class WindowFilter:
    """Converts windows of many streams at once, each of which becomes `outputs` samples.

    A window is read with the input around it: `width` input samples, of which `reach` lie before the window
    and as many behind it. The next window begins `step` later. Raises ValueError where a window is no whole
    number of rows.
    """

    def __init__(self, from_hz: int, to_hz: int, outputs: int) -> None:
        self._inputs, self._outputs, self.reach = (1, 1, 0) if from_hz == to_hz else _row(from_hz, to_hz)
        if outputs % self._outputs or not is_simple(from_hz, to_hz):
            raise ValueError(f"{outputs} samples at {to_hz} Hz are no whole rows of sound at {from_hz} Hz")
        self._rows = outputs // self._outputs
        self.step = self._rows * self._inputs
        self.width = self.step + 2 * self.reach
        # Single precision is half the work, and not a sixtieth of the step of a 16-bit sample off.
        self._weights = None if from_hz == to_hz else _weights(from_hz, to_hz).astype(np.float32)

    def convert(self, sound: NDArray[np.float32]) -> NDArray[np.float32]:
        """Windows [w, width] of samples, as [w, outputs]: whole numbers within a 16-bit sample's range."""
        if self._weights is None:
            return sound
        across, along = sound.strides
        shape = (len(sound), self._rows, self._inputs + 2 * self.reach)
        rows = np.ndarray(shape, sound.dtype, sound, strides=(across, self._inputs * along, along))
        product = rows.reshape(len(sound) * self._rows, shape[-1]) @ self._weights
        converted = product.reshape(len(sound), self._rows * self._outputs)
        np.rint(converted, out=converted)
        np.maximum(converted, np.float32(_MIN), out=converted)
        np.minimum(converted, np.float32(_MAX), out=converted)
        return converted


def _to_samples(sound: Floats) -> Samples:
    np.rint(sound, out=sound)
    np.maximum(sound, _MIN, out=sound)
    np.minimum(sound, _MAX, out=sound)
    return sound.astype(np.int16)


def _row(from_hz: int, to_hz: int) -> tuple[int, int, int]:
    """Input and output samples of a row, and how many input samples on either side weigh in."""
    common = gcd(from_hz, to_hz)
    periods = -(-ROW_SAMPLES * common // to_hz)
    return periods * from_hz // common, periods * to_hz // common, _reach(from_hz, to_hz)


def _reach(from_hz: int, to_hz: int) -> int:
    return ceil(CROSSINGS * max(1.0, from_hz / to_hz))


@cache
def _weights(from_hz: int, to_hz: int) -> Floats:
    """[inputs + 2 * reach, outputs]: what each input sample of a row and around it weighs in each output."""
    inputs, outputs, reach = _row(from_hz, to_hz)
    at = np.arange(outputs) * (from_hz / to_hz)
    distance = at[np.newaxis, :] - (np.arange(inputs + 2 * reach) - reach)[:, np.newaxis]
    return _at_distance(distance, from_hz, to_hz, reach)


@cache
def _weights_of_phases(from_hz: int, to_hz: int) -> Floats:
    """[phases, 2 * reach + 1]: what the input samples around an output sample weigh in it, by where it stands
    behind the middle one, in parts of 1 / phases.
    """
    phases = to_hz // gcd(from_hz, to_hz)
    reach = _reach(from_hz, to_hz)
    around = np.arange(-reach, reach + 1)[:, np.newaxis]
    weights = _at_distance(np.arange(phases) / phases - around, from_hz, to_hz, reach)
    return np.ascontiguousarray(weights.T)


def _at_distance(distance: Floats, from_hz: int, to_hz: int, reach: int) -> Floats:
    """[inputs, outputs]: what each input sample weighs in an output sample so many input samples from it."""
    band = CUT_OFF * min(1.0, to_hz / from_hz)
    inside = np.maximum(0.0, 1 - (distance / reach) ** 2)
    window = np.i0(KAISER_BETA * np.sqrt(inside)) / np.i0(KAISER_BETA)
    weights = np.where(inside > 0, band * np.sinc(band * distance) * window, 0.0)
    weights /= weights.sum(axis=0)  # a constant stays what it is
    rounded: Floats = np.rint(weights * _FINENESS) / _FINENESS
    return rounded
