"""Sample rate conversion by one matrix product, of a stream's chunk or of windows of many streams, for rates
whose ratio is simple. Pure.

The filter is a sinc in Kaiser's window (J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
window function", 1974) in polyphase form: an output sample is a weighted sum of the input around it, and the
weights repeat with the period of the two rates. A row of the product is a block of whole periods.
"""

from __future__ import annotations

from functools import cache
from math import ceil, gcd

import numpy as np
from numpy.typing import NDArray

from audio.pcm import Samples

CROSSINGS = 16
"""Zero crossings of the sinc on either side, at the lower rate: 2 ms at 8 kHz."""
CUT_OFF = 0.95
"""Where the filter is down by half, of the lower rate's band."""
KAISER_BETA = 8.0
"""Side lobes 80 dB down."""
ROW_SAMPLES = 32
"""Output samples of a row, at least: shorter ones are more overhead, longer ones more multiplying by zero."""
MAX_WEIGHTS = 1 << 18
"""Of a matrix, 2 MB; where a period takes more the ratio is not simple."""
_FINENESS = 1 << 20
"""Weights are whole multiples of its inverse. So sums of weighted 16-bit samples are exact, and the same in
whatever order they are made: how a stream is cut changes no sample."""

Floats = NDArray[np.float64]

_NO_SAMPLES: Samples = np.zeros(0, np.int16)
_LEAST, _MOST = np.float64(-32_768), np.float64(32_767)  # of a 16-bit sample; numpy takes its own type faster


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
        self._told = 0  # output samples of that row that were handed out already

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
        converted = (windows @ self._weights).reshape(-1)[self._told : ready]
        complete, self._told = divmod(ready, self._outputs)
        self._waiting = sound[complete * self._inputs : known]
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
        np.maximum(converted, np.float32(_LEAST), out=converted)
        np.minimum(converted, np.float32(_MOST), out=converted)
        return converted


def _to_samples(sound: Floats) -> Samples:
    np.rint(sound, out=sound)
    np.maximum(sound, _LEAST, out=sound)
    np.minimum(sound, _MOST, out=sound)
    return sound.astype(np.int16)


def _row(from_hz: int, to_hz: int) -> tuple[int, int, int]:
    """Input and output samples of a row, and how many input samples on either side weigh in."""
    common = gcd(from_hz, to_hz)
    periods = -(-ROW_SAMPLES * common // to_hz)
    reach = ceil(CROSSINGS * max(1.0, from_hz / to_hz))
    return periods * from_hz // common, periods * to_hz // common, reach


@cache
def _weights(from_hz: int, to_hz: int) -> Floats:
    """[inputs + 2 * reach, outputs]: what each input sample of a row and around it weighs in each output."""
    inputs, outputs, reach = _row(from_hz, to_hz)
    at = np.arange(outputs) * (from_hz / to_hz)
    distance = at[np.newaxis, :] - (np.arange(inputs + 2 * reach) - reach)[:, np.newaxis]
    band = CUT_OFF * min(1.0, to_hz / from_hz)
    inside = np.maximum(0.0, 1 - (distance / reach) ** 2)
    window = np.i0(KAISER_BETA * np.sqrt(inside)) / np.i0(KAISER_BETA)
    weights = np.where(inside > 0, band * np.sinc(band * distance) * window, 0.0)
    weights /= weights.sum(axis=0)  # a constant stays what it is
    rounded: Floats = np.rint(weights * _FINENESS) / _FINENESS
    return rounded
