"""Sample rate conversion of a stream with minimal delay.

For the agents' audio; callers' audio is converted in batches by the front end. Rates of a simple ratio, as
calls and voices have, are converted by a matrix product: 8-12 us a chunk of 20 ms; others, as files may have,
take 0.2 ms. Either filter delays by a constant 2 ms at most. soxr's streams work by FFT, in blocks: MQ and HQ
delay by 21 ms on average from 24 to 16 kHz (37 at worst) and 63 ms from 8 to 16 kHz (117), LQ by half of
that, the variable-rate mode by 10-30; every turn would wait for it.
"""

from __future__ import annotations

import numpy as np

from audio.pcm import Samples
from audio.polyphase import AnyRatioFilter, PolyphaseFilter, is_simple


class Resampler:
    """Converter of one mono stream from `from_hz` to `to_hz`; equal rates pass through.

    Output sample k is at k / to_hz seconds of the input. Raises ValueError if a rate is not positive.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        if from_hz <= 0 or to_hz <= 0:
            raise ValueError(f"cannot resample from {from_hz} Hz to {to_hz} Hz: rates must be positive")
        self._from_hz = from_hz
        self._to_hz = to_hz
        self._filter = _new_filter(from_hz, to_hz)

    def push(self, samples: Samples, last: bool = False) -> Samples:
        """Return the audio [m] at `to_hz` that became ready with `samples` [n] at `from_hz`.

        last: also flush the filter; the next push begins a new stream.
        """
        if self._from_hz == self._to_hz:
            return samples
        ready = self._filter.push(samples)
        if last:
            ready = np.concatenate((ready, self._filter.finish()))
            self._filter = _new_filter(self._from_hz, self._to_hz)
        return ready


def resample(samples: Samples, from_hz: int, to_hz: int) -> Samples:
    """Return all of `samples` [n] converted: n * to_hz / from_hz samples, give or take three."""
    return Resampler(from_hz, to_hz).push(samples, last=True)


def _new_filter(from_hz: int, to_hz: int) -> PolyphaseFilter | AnyRatioFilter:
    return PolyphaseFilter(from_hz, to_hz) if is_simple(from_hz, to_hz) else AnyRatioFilter(from_hz, to_hz)
