"""Opus (RFC 6716) of one voice, mono, with what was lost on the way made up for.

libopus by its C interface: the library that comes inside PyAV's wheel, or else the system's. PyAV itself
reaches it through FFmpeg, whose wrapper decodes at 48 kHz only (a resampler would follow), and can neither
conceal a lost packet nor use the copy of it that the next one carries.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from functools import cache, lru_cache
from pathlib import Path

import av
import numpy as np

from audio.pcm import Samples

RATE_HZ = 24_000
"""The rate of what is encoded, unless set otherwise. Opus knows 8, 12, 16, 24 and 48 kHz, at either end."""
_BITRATE = 64_000
"""Where Opus' transform sounds better than its speech coder with 32 kb/s, in the whole band of 24 kHz, and
costs half (`tests/bench/results/sound.md`, "Opus").
"""
_LOSSY_BITRATE = 32_000
"""Of a line that loses packets, which may be for want of room: by the speech coder, a voice is transparent
from about here on (RFC 6716, section 2.1.1).
"""
_COMPLEXITY = 0
"""From 0 to 10: the least work for the encoder; the same chapter has what it costs and sounds like."""
_MAX_BYTES = 1_275
"""A packet of one frame is never longer (RFC 6716, section 3.2.1)."""
_MAX_S, _MAX_ENCODED_S = 0.12, 0.06
"""Longest packet (RFC 6716, section 2.1.4), and longest frame that is encoded."""
_FADES_S, _FADED_S = 0.06, 0.2
"""Time in a gap at which the concealed audio begins to fade, and at which it is silent."""

_APPLICATION_VOIP = 2048
_SET_BITRATE, _SET_COMPLEXITY, _SET_INBAND_FEC, _SET_PACKET_LOSS, _SET_SIGNAL = 4002, 4010, 4012, 4014, 4024
_ANY_SIGNAL, _VOICE, _MUSIC = -1000, 3001, 3002


class OpusError(Exception):
    """libopus is missing, or does not take what it was given."""


class OpusEncoder:
    """Encodes one stream at `rate_hz`, a frame at a time. Raises OpusError where libopus is missing, or does
    not know the rate.

    speech_coder: use it always, as browsers do, and not only where packets are lost: the transform costs
    half, but only the speech coder can put a copy of a packet into the next.
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
        # An address that stays: to ask numpy for one costs as much as a tenth of the encoding.
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
        """Say what share of the packets is lost, 0-1: each carries a copy of the one before accordingly."""
        percent = round(min(max(fraction, 0.0), 1.0) * 100)
        self._set(_SET_PACKET_LOSS, percent)
        self._set(_SET_BITRATE, min(self._bitrate, _LOSSY_BITRATE) if percent else self._bitrate)
        unlost = _ANY_SIGNAL if self._speech_coder else _MUSIC
        self._set(_SET_SIGNAL, _VOICE if percent else unlost)

    def encode(self, frame: Samples) -> bytes:
        """The packet of a frame of 2.5, 5, 10, 20, 40 or 60 ms. Raises OpusError for any other length."""
        if len(frame) > len(self._frame):
            raise OpusError(
                f"a frame has {len(frame)} samples; at most {len(self._frame)}, 60 ms, are encoded"
            )
        self._frame[: len(frame)] = frame
        length = self._opus.opus_encode(self._state, self._frame_at, len(frame), self._packet, _MAX_BYTES)
        return ctypes.string_at(self._packet, _check(self._opus, length))

    def _set(self, setting: int, value: int) -> None:
        _check(self._opus, self._opus.opus_encoder_ctl(self._state, setting, ctypes.c_int(value)))


class OpusDecoder:
    """Decodes one stream, whatever its rate and channels, to mono at `rate_hz`. Raises OpusError where
    libopus is missing, or does not know the rate.
    """

    def __init__(self, rate_hz: int = RATE_HZ) -> None:
        self._opus = _library()
        self._rate_hz = rate_hz
        self._made_up = 0  # samples since the last packet
        self._sound = np.empty(round(rate_hz * _MAX_S), np.int16)
        self._sound_at = self._sound.ctypes.data  # which stays, as the encoder's
        error = ctypes.c_int()
        self._state = self._opus.opus_decoder_create(rate_hz, 1, ctypes.byref(error))
        _check(self._opus, error.value)

    def __del__(self) -> None:
        if state := getattr(self, "_state", None):
            self._opus.opus_decoder_destroy(state)

    def decode(self, packet: bytes) -> Samples:
        """The sound of a packet. Raises OpusError where it is none."""
        self._made_up = 0
        return self._sound[: self._decode(packet, self._sound_at, len(self._sound), recover=False)].copy()

    def conceal(self, samples: int, next_packet: bytes = b"") -> Samples:
        """`samples` [n] of sound in place of what was lost just before `next_packet`, b"" if there is none.

        The end of it comes from the copy in `next_packet`, where it has one; the rest goes on from what was
        heard last, and fades. Raises OpusError where n is no multiple of 2.5 ms.
        """
        sound = np.empty(samples, np.int16)
        count = self._decode(next_packet, sound.ctypes.data, samples, recover=True)
        copied = packet_samples(next_packet, self._rate_hz) if next_packet else 0
        self._fade(sound[: max(0, count - copied)])
        return sound[:count]

    def _fade(self, sound: Samples) -> None:
        """Let what goes on in a long gap die away: of the transform libopus lets it hum on for seconds."""
        at_s = (self._made_up + np.arange(len(sound))) / self._rate_hz
        sound[:] = sound * np.clip((_FADED_S - at_s) / (_FADED_S - _FADES_S), 0.0, 1.0)
        self._made_up += len(sound)

    def _decode(self, packet: bytes, sound_at: int, max_samples: int, recover: bool) -> int:
        """How many samples were written to that address."""
        count = self._opus.opus_decode(
            self._state, packet or None, len(packet), sound_at, max_samples, recover
        )
        return _check(self._opus, count)


def packet_samples(packet: bytes, rate_hz: int) -> int:
    """How long a packet lasts, in samples at `rate_hz`. Raises OpusError where it is none."""
    # Its first byte says so, and in packets of several frames the second (RFC 6716, sections 3.1 and 3.2.5).
    # Asking libopus for each packet was 3 % of all that a call costs whose caller is silent.
    several = bool(packet) and packet[0] & 0x03 == 0x03
    return _samples_by_head(packet[: 1 + several], rate_hz)


@lru_cache(1_024)
def _samples_by_head(head: bytes, rate_hz: int) -> int:
    opus = _library()
    return _check(opus, opus.opus_packet_get_nb_samples(head, len(head), rate_hz))


def _check(opus: ctypes.CDLL, result: int) -> int:
    """The result of a call, which is negative where it failed."""
    if result < 0:
        raise OpusError(f"libopus: {opus.opus_strerror(result).decode()}")
    return result


@cache
def _library() -> ctypes.CDLL:
    """libopus, with the types of the functions used here."""
    path = _find()
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


def _find() -> str | None:
    package = Path(av.__file__).parent
    for folder in (package.with_name("av.libs"), package / ".dylibs"):  # Linux, macOS
        for found in sorted(folder.glob("libopus*")):
            return str(found)
    return ctypes.util.find_library("opus")
