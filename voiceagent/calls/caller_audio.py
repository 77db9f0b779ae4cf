"""Audio of both sides, extracted from the recording of a kept call."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import av
import av.error
import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from voiceagent.calls.log.entries import SilentSpan


def caller_audio(recording: bytes, rate_hz: int, silences: Sequence[SilentSpan]) -> Samples:
    """Return the audio the caller sent, [n] at 16 kHz: the left channel without the inserted silences.

    rate_hz: of the recording, and unit of its silences. silences: spans without input. Raises ValueError if
    the recording cannot be read.
    """
    left, _ = both_sides(recording, rate_hz)
    sent = np.ones(len(left), bool)
    for silence in silences:
        sent[silence.since : silence.until] = False
    return resample(left[sent], rate_hz, SAMPLE_RATE_HZ)


def both_sides(recording: bytes, rate_hz: int) -> tuple[Samples, Samples]:
    """Return the samples [n] of caller and agent at `rate_hz`. Raises ValueError if they cannot be read."""
    try:
        with av.open(BytesIO(recording), mode="r") as container:
            stream = container.streams.audio[0]
            to_planes = av.AudioResampler(format="s16p", layout="stereo", rate=rate_hz)
            frames = [frame for sound in container.decode(stream) for frame in to_planes.resample(sound)]
    except (av.error.FFmpegError, IndexError) as error:
        raise ValueError(f"the recording cannot be read: {error}") from error
    both = np.concatenate([np.zeros((2, 0), np.int16), *(frame.to_ndarray() for frame in frames)], axis=1)
    return both[0], both[1]
