"""Sample rate conversion by one matrix product, of a stream's chunk or of windows of many streams.

The filter is a sinc in Kaiser's window (J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
window function", 1974) in polyphase form: an output sample is a weighted sum of the input around it, and the
weights repeat with the period of the two rates. A row of the product is a block of whole periods. Rates with
a long period, which files may have but calls and voices do not, are converted sample by sample from the same
weights.

`reach` is the number of input samples on either side that weigh in an output sample. Output at position p
needs the inputs closer than `reach` to p: at distance `reach` the window is 0. So with n inputs from position
-reach on, outputs up to and including p = n - 2 * reach are ready, the one at p = 0 among them: hence the `+
1`.
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
"""Frequency at which the filter is down by half, relative to the lower rate's band."""
KAISER_BETA = 8.0
"""Side lobes at -80 dB."""
ROW_SAMPLES = 32
"""Minimum output samples of a row: shorter rows have more overhead, longer ones more products with zero."""
MAX_WEIGHTS = 1 << 18
"""Maximum weights of a matrix, 2 MB. A period that needs more is not simple, and a matrix not faster."""
_FINENESS = 1 << 20
"""Weights are multiples of 1 / _FINENESS. So sums of weighted 16-bit samples are exact, whatever their order:
the way a stream is split into chunks changes no sample.
"""

Floats = NDArray[np.float64]

_NO_SAMPLES: Samples = np.zeros(0, np.int16)
_MIN, _MAX = np.float64(-32_768), np.float64(32_767)  # of a 16-bit sample; numpy takes its own type faster


def is_simple(from_hz: int, to_hz: int) -> bool:
    """Return True if the period of the rates is short enough for a matrix."""
    inputs, outputs, reach = _row(from_hz, to_hz)
    return (inputs + 2 * reach) * outputs <= MAX_WEIGHTS


class PolyphaseFilter:
    """Converter of one mono stream between rates of a simple ratio. Output sample k is at k / to_hz seconds.

    `_waiting` starts `reach` samples before the first row that is incomplete. Its outputs that are ready are
    handed out early and counted in `_handed_out`; the row is computed again, and these are skipped, as more
    input arrives.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz, self._to_hz = from_hz, to_hz
        self._inputs, self._outputs, self._reach = _row(from_hz, to_hz)
        self._weights = _weights(from_hz, to_hz)
        self._waiting: Floats = np.zeros(self._reach)  # zeros before the stream's start
        self._handed_out = 0  # outputs of the incomplete row

    def push(self, samples: Samples) -> Samples:
        """Return the output that became ready with `samples` [n]. The filter delays by at most 2 ms."""
        known = len(self._waiting) + len(samples) - 2 * self._reach
        ready = known * self._to_hz // self._from_hz + 1 if known >= 0 else 0
        return self._convert(samples, ready)

    def finish(self) -> Samples:
        """Return the rest of the stream's output, as if silence followed."""
        left = (len(self._waiting) - self._reach) * self._to_hz / self._from_hz
        return self._convert(_NO_SAMPLES, ceil(left))

    def _convert(self, samples: Samples, ready: int) -> Samples:
        """Return the row's first `ready` outputs, without those handed out before."""
        rows = -(-ready // self._outputs)
        width = self._inputs + 2 * self._reach
        held = len(self._waiting)
        known = held + len(samples)
        sound = np.zeros(max(known, (rows - 1) * self._inputs + width))
        sound[:held] = self._waiting
        sound[held:known] = samples
        # A view without a copy: rows are `inputs` apart and overlap by 2 * reach. Outputs beyond `ready` lack
        # input (zeros here) and are cut off.
        stride = sound.itemsize
        windows = np.ndarray((rows, width), sound.dtype, sound, strides=(self._inputs * stride, stride))
        converted = (windows @ self._weights).reshape(-1)[self._handed_out : ready]
        complete, self._handed_out = divmod(ready, self._outputs)
        self._waiting = sound[complete * self._inputs : known]
        return _to_samples(converted)


class AnyRatioFilter:
    """Converter of one mono stream between any two rates; for simple ratios, to the same samples as
    `PolyphaseFilter`.

    A chunk of 20 ms takes 0.2 ms, and the first use of a pair of rates up to a second.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        common = gcd(from_hz, to_hz)
        self._from, self._to = from_hz // common, to_hz // common
        self._weights = _weights_of_phases(from_hz, to_hz)
        self._taps = self._weights.shape[1]
        self._reach = self._taps // 2
        self._waiting: Floats = np.zeros(self._reach)  # starts `reach` before the next output's input
        self._phase = 0  # the output's distance after that, in 1 / to

    def push(self, samples: Samples) -> Samples:
        """Return the output that became ready with `samples` [n]. The filter delays by at most 2 ms."""
        known = len(self._waiting) + len(samples) - 2 * self._reach
        ready = (known * self._to - self._phase) // self._from + 1 if known >= 0 else 0
        return self._convert(samples, max(0, ready))

    def finish(self) -> Samples:
        """Return the rest of the stream's output, as if silence followed."""
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
    """Converter of windows of many streams at once, to `outputs` samples each.

    A window is read with its surroundings: `width` input samples, `reach` of them before the window and
    `reach` after it. The next window begins `step` later. Raises ValueError if a window is not a whole number
    of rows.
    """

    def __init__(self, from_hz: int, to_hz: int, outputs: int) -> None:
        self._inputs, self._outputs, self.reach = (1, 1, 0) if from_hz == to_hz else _row(from_hz, to_hz)
        if outputs % self._outputs or not is_simple(from_hz, to_hz):
            raise ValueError(f"{outputs} samples at {to_hz} Hz are no whole rows of sound at {from_hz} Hz")
        self._rows = outputs // self._outputs
        self.step = self._rows * self._inputs
        self.width = self.step + 2 * self.reach
        # Single precision halves the work; its error is below a sixtieth of a 16-bit step.
        self._weights = None if from_hz == to_hz else _weights(from_hz, to_hz).astype(np.float32)

    def convert(self, sound: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return windows [w, width] of samples as [w, outputs]: whole numbers in the 16-bit range."""
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
    """Return a row's input samples, its output samples, and its reach."""
    common = gcd(from_hz, to_hz)
    periods = -(-ROW_SAMPLES * common // to_hz)
    return periods * from_hz // common, periods * to_hz // common, _reach(from_hz, to_hz)


def _reach(from_hz: int, to_hz: int) -> int:
    return ceil(CROSSINGS * max(1.0, from_hz / to_hz))


@cache
def _weights(from_hz: int, to_hz: int) -> Floats:
    """Return the weight of each input sample in each output of a row: [inputs + 2 * reach, outputs]."""
    inputs, outputs, reach = _row(from_hz, to_hz)
    at = np.arange(outputs) * (from_hz / to_hz)
    distance = at[np.newaxis, :] - (np.arange(inputs + 2 * reach) - reach)[:, np.newaxis]
    return _at_distance(distance, from_hz, to_hz, reach)


@cache
def _weights_of_phases(from_hz: int, to_hz: int) -> Floats:
    """Return the weights of the inputs around an output sample: [phases, 2 * reach + 1].

    A phase is the output's distance after the middle input, in 1 / phases.
    """
    phases = to_hz // gcd(from_hz, to_hz)
    reach = _reach(from_hz, to_hz)
    around = np.arange(-reach, reach + 1)[:, np.newaxis]
    weights = _at_distance(np.arange(phases) / phases - around, from_hz, to_hz, reach)
    return np.ascontiguousarray(weights.T)


def _at_distance(distance: Floats, from_hz: int, to_hz: int, reach: int) -> Floats:
    """Return the weights of inputs at these distances (in input samples) from outputs: [inputs, outputs]."""
    band = CUT_OFF * min(1.0, to_hz / from_hz)
    inside = np.maximum(0.0, 1 - (distance / reach) ** 2)
    window = np.i0(KAISER_BETA * np.sqrt(inside)) / np.i0(KAISER_BETA)
    weights = np.where(inside > 0, band * np.sinc(band * distance) * window, 0.0)
    weights /= weights.sum(axis=0)  # unity gain for a constant
    rounded: Floats = np.rint(weights * _FINENESS) / _FINENESS
    return rounded
