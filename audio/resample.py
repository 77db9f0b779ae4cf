"""Sample rate conversion of a stream, with as little delay as a filter can have.

The agents' sound goes through here; that of all callers is converted together, by the front end. Rates of a
simple ratio, as calls and voices have, are converted by a matrix product: 8-12 us a chunk of 20 ms.
Others go through FFmpeg's filter (libswresample by PyAV, 32 taps), 22 us and, between those of other calls,
more. Either holds back 2 ms at most, always the same.
soxr's streams work by FFT, in blocks: MQ and HQ hold back 21 ms on average from 24 to 16 kHz (37 at
worst) and 63 ms from 8 to 16 kHz (117), LQ half of that, the variable-rate mode 10-30; every turn would wait
for it.
"""

from __future__ import annotations

import av
import numpy as np
from av.filter import Graph

from audio.pcm import Samples
from audio.polyphase import PolyphaseFilter, is_simple


class Resampler:
    """Converts one mono stream from `from_hz` to `to_hz`; equal rates pass through untouched.

    The output keeps time with the input: sample k stands at k / to_hz seconds of it.
    Raises ValueError where a rate is not positive.
    """

    def __init__(self, from_hz: int, to_hz: int) -> None:
        if from_hz <= 0 or to_hz <= 0:
            raise ValueError(f"cannot resample from {from_hz} Hz to {to_hz} Hz: rates must be positive")
        self._from_hz = from_hz
        self._to_hz = to_hz
        self._filter = _new_filter(from_hz, to_hz)

    def push(self, samples: Samples, last: bool = False) -> Samples:
        """Sound at `to_hz` [m] that became ready with `samples` [n] at `from_hz`.

        `last` also brings out what the filter holds back; the next push begins a new stream.
        """
        if self._from_hz == self._to_hz:
            return samples
        ready = self._filter.push(samples)
        if last:
            ready = np.concatenate((ready, self._filter.finish()))
            self._filter = _new_filter(self._from_hz, self._to_hz)
        return ready


def _new_filter(from_hz: int, to_hz: int) -> PolyphaseFilter | _FfmpegFilter:
    return PolyphaseFilter(from_hz, to_hz) if is_simple(from_hz, to_hz) else _FfmpegFilter(from_hz, to_hz)


class _FfmpegFilter:
    """Converts one mono stream between any two rates; 40 us a chunk."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        self._from_hz = from_hz
        self._graph = _new_graph(from_hz, to_hz)

    def push(self, samples: Samples) -> Samples:
        """What became ready with `samples` [n]."""
        if len(samples) == 0:
            return _NOTHING
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
        frame.sample_rate = self._from_hz
        self._graph.push(frame)
        return _pull(self._graph)

    def finish(self) -> Samples:
        """What is left of the stream."""
        self._graph.push(None)
        return _pull(self._graph)


_NOTHING: Samples = np.zeros(0, np.int16)


def _new_graph(from_hz: int, to_hz: int) -> Graph:
    """One mono stream through libswresample. A graph has a thread for each core unless it is told not to."""
    graph = Graph()
    graph.threads = 1
    source = graph.add(
        "abuffer",
        sample_rate=str(from_hz),
        sample_fmt="s16",
        channel_layout="mono",
        time_base=f"1/{from_hz}",
    )
    convert = graph.add("aformat", sample_rates=str(to_hz), sample_fmts="s16", channel_layouts="mono")
    sink = graph.add("abuffersink")
    source.link_to(convert)
    convert.link_to(sink)
    graph.configure()
    return graph


def _pull(graph: Graph) -> Samples:
    """All sound that is ready."""
    ready: list[Samples] = [_NOTHING]
    try:
        while True:
            frame = graph.pull()
            assert isinstance(frame, av.AudioFrame)
            ready.append(frame.to_ndarray()[0])
    except (BlockingIOError, EOFError):  # more is needed, or nothing more will come
        return np.concatenate(ready)


def resample(samples: Samples, from_hz: int, to_hz: int) -> Samples:
    """All of `samples` [n] at once: n * to_hz / from_hz samples, give or take three."""
    return Resampler(from_hz, to_hz).push(samples, last=True)
