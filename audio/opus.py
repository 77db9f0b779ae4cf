"""Opus (RFC 6716) of one mono stream, with loss concealment.

Calls libopus by its C interface: the library inside PyAV's wheel, or else the system's. PyAV itself reaches
it through FFmpeg, whose wrapper decodes at 48 kHz only (a resampler would follow) and can neither conceal a
lost packet nor use the copy of it that the next one carries.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache, lru_cache
from pathlib import Path
from typing import cast

import av
import numpy as np

from audio.pcm import Samples

RATE_HZ = 24_000
"""Default sample rate of the encoder. Opus supports 8, 12, 16, 24 and 48 kHz, independently at either end."""
_BITRATE = 64_000
"""In the whole band of 24 kHz, Opus' transform codec sounds better at this rate than its speech codec at 32
kb/s and costs half (`tests/bench/results/sound.md`, "Opus").
"""
_LOSSY_BITRATE = 32_000
"""Bit rate while packets are lost, perhaps for lack of bandwidth: with the speech codec a voice is
transparent from about here (RFC 6716, section 2.1.1).
"""
_COMPLEXITY = 0
"""Encoder effort, 0 to 10; cost and quality are in the same chapter."""
_MAX_BYTES = 1_275
"""Maximum size of a packet of one frame (RFC 6716, section 3.2.1)."""
_MAX_S, _MAX_ENCODED_S = 0.12, 0.06
"""Maximum duration of a packet (RFC 6716, section 2.1.4), and of a frame to encode."""
_FADES_S, _FADED_S = 0.06, 0.2
"""Time into a gap at which concealed audio begins to fade, and at which it is silent."""

_APPLICATION_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_INBAND_FEC, _SET_PACKET_LOSS, _SET_SIGNAL = 4002, 4010, 4012, 4014, 4024
_ANY_SIGNAL, _VOICE, _MUSIC = -1000, 3001, 3002


class OpusError(Exception):
    """libopus is missing, or rejected its input."""


class OpusEncoder:
    """Encoder of one stream at `rate_hz`, frame by frame. Raises OpusError if libopus is missing or does not
    support the rate.

    speech_coder: always use the speech codec, as browsers do, not only while packets are lost: the transform
    codec costs half, but only the speech codec can copy a packet into the next.
    """

    def __init__(
        self,
        bitrate: int = _BITRATE,
        complexity: int = _COMPLEXITY,
        rate_hz: int = RATE_HZ,
        speech_coder: bool = False,
    ) -> None:
        self._opus = _library()
        error = ctypes.c_int()
        self._state = self._opus.opus_encoder_create(rate_hz, 1, _APPLICATION_VOIP, ctypes.byref(error))
        _check(self._opus, error.value)
        # A fixed buffer: getting an address from numpy costs a tenth of the encoding.
        self._frame = np.empty(round(rate_hz * _MAX_ENCODED_S), np.int16)
        self._frame_at = self._frame.ctypes.data
        self._packet = ctypes.create_string_buffer(_MAX_BYTES)
        self._set(_SET_COMPLEXITY, complexity)
        self._set(_SET_INBAND_FEC, 1)
        self._bitrate = bitrate
        self._speech_coder = speech_coder
        self.expect_loss(0.0)

    def __del__(self) -> None:
        if state := getattr(self, "_state", None):
            self._opus.opus_encoder_destroy(state)

    def expect_loss(self, fraction: float) -> None:
        """Set the share of packets lost, 0-1. If not 0, packets carry copies of their predecessors."""
        percent = round(min(max(fraction, 0.0), 1.0) * 100)
        self._set(_SET_PACKET_LOSS, percent)
        self._set(_SET_BITRATE, min(self._bitrate, _LOSSY_BITRATE) if percent else self._bitrate)
        unlost = _ANY_SIGNAL if self._speech_coder else _MUSIC
        self._set(_SET_SIGNAL, _VOICE if percent else unlost)

    def encode(self, frame: Samples) -> bytes:
        """Return the packet of a frame of 2.5, 5, 10, 20, 40 or 60 ms. Raises OpusError for other lengths."""
        if len(frame) > len(self._frame):
            raise OpusError(
                f"a frame has {len(frame)} samples; at most {len(self._frame)}, 60 ms, are encoded"
            )
        self._frame[: len(frame)] = frame
        length = self._opus.opus_encode(self._state, self._frame_at, len(frame), self._packet, _MAX_BYTES)
        # `string_at` takes twice as long; the stubs have a list here
        return cast("bytes", self._packet[: _check(self._opus, length)])

    def _set(self, setting: int, value: int) -> None:
        _check(self._opus, self._opus.opus_encoder_ctl(self._state, setting, ctypes.c_int(value)))


class OpusDecoder:
    """Decoder of one stream, of any rate and channels, to mono at `rate_hz`. Raises OpusError if libopus is
    missing or does not support the rate.
    """

    def __init__(self, rate_hz: int = RATE_HZ) -> None:
        self._opus = _library()
        self._rate_hz = rate_hz
        self._concealed_samples = 0  # concealed samples since the last packet
        self._buffer = np.empty(round(rate_hz * _MAX_S), np.int16)
        self._buffer_at = self._buffer.ctypes.data  # fixed, as in the encoder
        error = ctypes.c_int()
        self._state = self._opus.opus_decoder_create(rate_hz, 1, ctypes.byref(error))
        _check(self._opus, error.value)

    def __del__(self) -> None:
        if state := getattr(self, "_state", None):
            self._opus.opus_decoder_destroy(state)

    def decode(self, packet: bytes) -> Samples:
        """Return the audio of a packet. Raises OpusError if it is invalid."""
        self._concealed_samples = 0
        return self._buffer[: self._decode(packet, self._buffer_at, len(self._buffer), recover=False)].copy()

    def conceal(self, samples: int, next_packet: bytes = b"") -> Samples:
        """Return `samples` [n] of audio in place of a gap just before `next_packet` (b"" if none).

        The end comes from the copy in `next_packet`, if it has one; the rest extrapolates the last audio and
        fades. Raises OpusError if n is not a multiple of 2.5 ms.
        """
        sound = np.empty(samples, np.int16)
        count = self._decode(next_packet, sound.ctypes.data, samples, recover=True)
        copied = packet_samples(next_packet, self._rate_hz) if next_packet else 0
        self._fade(sound[: max(0, count - copied)])
        return sound[:count]

    def _fade(self, sound: Samples) -> None:
        """Fade concealed audio out in place: libopus' transform codec would hum for seconds."""
        at_s = (self._concealed_samples + np.arange(len(sound))) / self._rate_hz
        sound[:] = sound * np.clip((_FADED_S - at_s) / (_FADED_S - _FADES_S), 0.0, 1.0)
        self._concealed_samples += len(sound)

    def _decode(self, packet: bytes, sound_at: int, max_samples: int, recover: bool) -> int:
        """Decode to the address `sound_at` and return the number of samples written."""
        count = self._opus.opus_decode(
            self._state, packet or None, len(packet), sound_at, max_samples, recover
        )
        return _check(self._opus, count)


def packet_samples(packet: bytes, rate_hz: int) -> int:
    """Return the duration of a packet in samples at `rate_hz`. Raises OpusError if it is invalid."""
    # The first byte determines it; for packets of several frames also the second (RFC 6716, 3.1 and 3.2.5).
    # Asking libopus for each packet took 3 % of the CPU time of a call with a silent caller.
    several = bool(packet) and packet[0] & 0x03 == 0x03
    return _samples_by_head(packet[: 1 + several], rate_hz)


@lru_cache(1_024)
def _samples_by_head(head: bytes, rate_hz: int) -> int:
    opus = _library()
    return _check(opus, opus.opus_packet_get_nb_samples(head, len(head), rate_hz))


def _check(opus: ctypes.CDLL, result: int) -> int:
    """Return the result of a libopus call. Raises OpusError if it is negative."""
    if result < 0:
        raise OpusError(f"libopus: {opus.opus_strerror(result).decode()}")
    return result


@cache
def _library() -> ctypes.CDLL:
    """Return libopus, with the types of the functions used here."""
    path = _find_library()
    if path is None:
        raise OpusError("libopus is missing: neither PyAV's wheel nor the system has it; install libopus")
    opus = ctypes.CDLL(path)
    pointer, integer = ctypes.c_void_p, ctypes.c_int
    opus.opus_strerror.argtypes, opus.opus_strerror.restype = [integer], ctypes.c_char_p
    opus.opus_encoder_create.argtypes, opus.opus_encoder_create.restype = [integer] * 3 + [pointer], pointer
    opus.opus_encoder_destroy.argtypes, opus.opus_encoder_destroy.restype = [pointer], None
    opus.opus_encoder_ctl.argtypes = [pointer, integer]  # what follows is variadic
    opus.opus_encode.argtypes = [pointer, pointer, integer, ctypes.c_char_p, ctypes.c_int32]
    opus.opus_decoder_create.argtypes, opus.opus_decoder_create.restype = [integer] * 2 + [pointer], pointer
    opus.opus_decoder_destroy.argtypes, opus.opus_decoder_destroy.restype = [pointer], None
    opus.opus_decode.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int32, pointer, integer, integer]
    opus.opus_packet_get_nb_samples.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_int32]
    return opus


def _find_library() -> str | None:
    package = Path(av.__file__).parent
    for folder in (package.with_name("av.libs"), package / ".dylibs"):  # Linux, macOS
        for found in sorted(folder.glob("libopus*")):
            return str(found)
    return ctypes.util.find_library("opus")
