"""Audio files: any rate and sample format to mono samples, and mono samples to a WAV file."""

from __future__ import annotations

import wave
from io import BytesIO
from pathlib import Path

import av
import av.error
import numpy as np

from audio.pcm import Samples

FORMATS = {".mp3": "mp3", ".ogg": "ogg", ".oga": "ogg", ".opus": "ogg", ".flac": "flac", ".m4a": "mp4"}
"""FFmpeg's formats by suffix; all other files are read as WAV. FFmpeg must not guess: some of its formats
open further files or URLs.
"""


READABLE = ", ".join((".wav", *FORMATS))
"""The suffixes of files that can be read, for errors."""


def read_wav(path: Path) -> tuple[Samples, int]:
    """Return the samples [n] of a WAV file, or of one of `FORMATS`, and their rate in Hz.

    WAV may have integers of 8, 16, 24 or 32 bits, floats or G.711. Several channels are mixed to one. Raises
    OSError if the file cannot be read, ValueError if it is not of its format.
    """
    kind = FORMATS.get(path.suffix.lower(), "wav")
    with path.open("rb") as file:  # opened here, since FFmpeg's own errors name no path
        try:
            with av.open(file, mode="r", format=kind) as container:
                stream = container.streams.audio[0]
                rate_hz = stream.rate
                to_mono = av.AudioResampler(format="s16", layout="mono", rate=rate_hz)
                frames = [frame for sound in container.decode(stream) for frame in to_mono.resample(sound)]
        except (av.error.FFmpegError, IndexError) as error:
            what = f"{path} cannot be read as {kind.upper()}"
            why = getattr(error, "strerror", None) or error
            raise ValueError(f"{what}: {why}; allowed: {READABLE}") from error
    nothing: Samples = np.zeros(0, np.int16)
    return np.concatenate([nothing, *(frame.to_ndarray()[0] for frame in frames)]), rate_hz


def write_wav(path: Path, samples: Samples, rate_hz: int) -> None:
    """Write `samples` [n] as a mono 16-bit WAV file. Raises OSError if it cannot be written."""
    path.write_bytes(wav_bytes(samples, rate_hz))


def wav_bytes(samples: Samples, rate_hz: int) -> bytes:
    """Return `samples` [n] as the bytes of a mono 16-bit WAV file."""
    file = BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(rate_hz)
        sound.writeframes(samples.astype("<i2", copy=False).tobytes())
    return file.getvalue()
