"""Audio formats: 16-bit linear PCM and G.711, to and from bytes. Resampling: `audio.resample`."""

from __future__ import annotations

from enum import Enum
from functools import cache

import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.int16]
"""Mono 16-bit samples, shape [n]."""

_Codes = NDArray[np.uint8]


class AudioFormat(Enum):
    """Wire format of audio: encoding and sample rate."""

    PCM_24K = ("pcm", 24_000)
    PCM_16K = ("pcm", 16_000)
    PCM_8K = ("pcm", 8_000)
    PCMU = ("pcmu", 8_000)
    PCMA = ("pcma", 8_000)

    __hash__ = object.__hash__  # members are singletons; Enum's own hash runs in Python

    def __init__(self, encoding: str, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        """Samples per second."""
        self.bytes_per_sample = 2 if encoding == "pcm" else 1
        """2 for linear PCM, 1 for G.711."""


def encode(samples: Samples, audio_format: AudioFormat) -> bytes:
    """Return `samples` [n] as n * bytes_per_sample bytes; linear PCM is little-endian."""
    if audio_format.bytes_per_sample == 2:
        return samples.astype("<i2", copy=False).tobytes()
    return _encoding_table(audio_format).take(samples.view(np.uint16)).tobytes()


def decode(data: bytes, audio_format: AudioFormat) -> Samples:
    """Return the samples [n] of wire bytes. Raises ValueError if the last 16-bit sample is incomplete."""
    if audio_format.bytes_per_sample == 1:
        # every byte is in the table: "clip" only spares the check, a fifth of the time
        return _decoding_table(audio_format).take(np.frombuffer(data, np.uint8), mode="clip")
    if len(data) % 2:
        raise ValueError(f"{len(data)} bytes of 16-bit PCM end in half a sample; an even number is needed")
    return np.frombuffer(data, "<i2").astype(np.int16)


# ---- G.711 (ITU-T G.711, 11/88): 8 segments of 16 steps, each segment twice as coarse as the one before ----
# `take` looks up 160 samples in two thirds of the time of indexing.


@cache
def _encoding_table(audio_format: AudioFormat) -> _Codes:
    """Return the code of every 16-bit sample, [65536], indexed by the sample's bits as unsigned."""
    every_sample = np.arange(65_536, dtype=np.uint16).view(np.int16).astype(np.int32)
    return _encode_mu_law(every_sample) if audio_format is AudioFormat.PCMU else _encode_a_law(every_sample)


@cache
def _decoding_table(audio_format: AudioFormat) -> Samples:
    """Return the sample of every code, [256]."""
    every_code = np.arange(256, dtype=np.int32)
    return _decode_mu_law(every_code) if audio_format is AudioFormat.PCMU else _decode_a_law(every_code)


def _encode_mu_law(samples: NDArray[np.int32]) -> _Codes:
    linear = samples >> 2  # the law is defined on 14 bits
    magnitude = np.minimum(np.abs(linear), 8_158) + 33
    segment = np.searchsorted(2 ** np.arange(6, 14), magnitude, side="right")
    code = segment << 4 | (magnitude >> (segment + 1)) & 0x0F
    inverted: NDArray[np.int64] = code ^ np.where(linear < 0, 0x7F, 0xFF)
    return inverted.astype(np.uint8)


def _decode_mu_law(codes: NDArray[np.int32]) -> Samples:
    inverted = codes ^ 0xFF
    segment, step = (inverted >> 4) & 0x07, inverted & 0x0F
    magnitude = ((2 * step + 33) << segment) - 33
    return (np.where(inverted & 0x80, -magnitude, magnitude) * 4).astype(np.int16)


def _encode_a_law(samples: NDArray[np.int32]) -> _Codes:
    linear = samples >> 3  # the law is defined on 13 bits
    magnitude = np.where(linear < 0, ~linear, linear)
    segment = np.searchsorted(2 ** np.arange(5, 12), magnitude, side="right")
    code = segment << 4 | (magnitude >> np.maximum(segment, 1)) & 0x0F
    inverted: NDArray[np.int64] = code ^ np.where(linear < 0, 0x55, 0xD5)  # every second bit
    return inverted.astype(np.uint8)


def _decode_a_law(codes: NDArray[np.int32]) -> Samples:
    inverted = codes ^ 0x55
    segment, step = (inverted >> 4) & 0x07, inverted & 0x0F
    magnitude = np.where(segment == 0, 2 * step + 1, (2 * step + 33) << np.maximum(segment - 1, 0))
    return (np.where(inverted & 0x80, magnitude, -magnitude) * 8).astype(np.int16)
