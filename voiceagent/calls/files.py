"""Files of a kept call. Errors of a disk are reported to callbacks and writes are retried; unwritten data is
buffered up to a bound. Nothing here raises for a failing disk.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from struct import pack

import av
import numpy as np
from numpy.typing import NDArray

from voiceagent.calls.log.placement import Stereo

MAX_WAITING_BYTES = 1 << 20
"""Maximum unwritten bytes of one file."""
Failed = Callable[[OSError], None]

_WAV_HEADER_BYTES = 44
_FRAME_BYTES = 4  # two samples of 16 bits


class AppendedFile:
    """A file that grows. failed: called with each write error.

    It is locked while its process lives, so that other processes can tell if the call is running.
    """

    def __init__(self, path: Path, failed: Failed) -> None:
        self.path = path
        self._failed = failed
        self._file: int | None = None
        self._waiting = bytearray()
        self.written = 0
        """Bytes that are in the file."""

    @property
    def has_room(self) -> bool:
        """True if more may be appended."""
        return len(self._waiting) < MAX_WAITING_BYTES

    @property
    def waiting_lines(self) -> int:
        """Number of unwritten lines."""
        return self._waiting.count(b"\n")

    def append(self, data: bytes) -> None:
        """Buffer bytes for writing."""
        self._waiting += data

    def flush(self) -> bool:
        """Write buffered bytes. Return True if all of them are written."""
        try:
            if self._file is None:
                self._file = open_locked(self.path)
            while self._waiting:
                count = os.pwrite(self._file, self._waiting, self.written)
                del self._waiting[:count]
                self.written += count
        except OSError as error:
            self._failed(error)
            return False
        return True

    def close(self) -> bool:
        """Write buffered bytes and close the file. Return False if some were lost."""
        complete = self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return complete


class WavRecording:
    """16-bit stereo PCM. Its header is valid after each write; audio that could not be written is silence."""

    suffix = ".wav"

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._path = path
        self._rate_hz = rate_hz
        self._failed = failed
        self._file: int | None = None

    def write(self, since: int, sound: Stereo) -> bool:
        """Write frames [n, 2] from sample `since` on. Return False if the disk failed."""
        data = sound.astype("<i2", copy=False).tobytes()
        try:
            if self._file is None:
                self._file = _open(self._path)
            _write_all(self._file, data, _WAV_HEADER_BYTES + since * _FRAME_BYTES)
            _write_all(self._file, self._header((since + len(sound)) * _FRAME_BYTES), 0)
        except OSError as error:
            self._failed(error)
            return False
        return True

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _header(self, data_bytes: int) -> bytes:
        """Return the header, RIFF/WAVE of PCM (Multimedia Programming Interface 1.0, 1991)."""
        rate = self._rate_hz
        form = pack("<4sIHHIIHH", b"fmt ", 16, 1, 2, rate, rate * _FRAME_BYTES, _FRAME_BYTES, 16)
        return (
            pack("<4sI4s", b"RIFF", _WAV_HEADER_BYTES - 8 + data_bytes, b"WAVE")
            + form
            + pack("<4sI", b"data", data_bytes)
        )


class OpusRecording:
    """Opus in Ogg (RFC 7845), stereo. Pages not written are missing; the others keep their time."""

    suffix = ".ogg"

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._file = AppendedFile(path, failed)
        # Half a second a page, each written when it is full.
        options = {"page_duration": "500000", "flush_packets": "1"}
        self._container = av.open(_Pages(self._file), "w", format="ogg", container_options=options)
        quality = {"b": "48000", "compression_level": "0"}
        self._stream = self._container.add_stream("libopus", rate=rate_hz, layout="stereo", options=quality)
        self._rate_hz = rate_hz
        self._encoded = 0

    def write(self, since: int, sound: Stereo) -> bool:
        """Write like `WavRecording.write`; gaps are encoded as silence."""
        if since > self._encoded:
            self._encode(np.zeros((since - self._encoded, 2), np.int16))
        self._encode(sound)
        return self._file.flush()

    def close(self) -> None:
        for packet in self._stream.encode(None):
            self._container.mux(packet)
        self._container.close()
        self._file.close()

    def _encode(self, sound: Stereo) -> None:
        frame = av.AudioFrame.from_ndarray(sound.reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate, frame.pts = self._rate_hz, self._encoded
        self._encoded += len(sound)
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


class PeaksFile:
    """Loudness of both sides of a recording, for drawing: two bytes, caller and agent, per 20 ms, computed by
    `peaks`. Values that could not be written are 0.
    """

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._path = path
        self._block = peak_samples(rate_hz)
        self._failed = failed
        self._file: int | None = None
        self._rest: Stereo = np.zeros((0, 2), np.int16)

    def write(self, since: int, sound: Stereo) -> None:
        """Add the next frames [n, 2], from sample `since` on; an incomplete block is buffered."""
        first = (since - len(self._rest)) // self._block
        sound = np.concatenate((self._rest, sound))
        whole = len(sound) // self._block * self._block
        self._rest = sound[whole:]
        self._put(peaks(sound[:whole], self._block), first)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _put(self, data: bytes, first: int) -> None:
        try:
            if self._file is None:
                self._file = _open(self._path)
            _write_all(self._file, data, first * PEAK_BYTES)
        except OSError as error:
            self._failed(error)


class _Pages:
    """Output of PyAV. A page for which there is no room is dropped whole."""

    def __init__(self, file: AppendedFile) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        if self._file.has_room:
            self._file.append(bytes(data))
        return len(data)


def open_locked(path: Path) -> int:
    """Return the descriptor of a locked file, created if missing. Raises BlockingIOError if another process
    has locked it, and OSError.
    """
    return _locked(_open(path))


def lock_existing(path: Path) -> int:
    """Return the descriptor of a locked existing file. Raises FileNotFoundError, BlockingIOError, OSError."""
    return _locked(os.open(path, os.O_RDWR))


def _locked(file: int) -> int:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o640)


def _write_all(file: int, data: bytes, at: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(file, data[written:], at + written)


PEAK_S = 0.02
PEAK_BYTES = 2
"""Bytes of a block: the caller's peak, and the agent's."""
_FULL_SCALE = 32_768
_DRAWN = np.ceil(255 * np.sqrt(np.arange(_FULL_SCALE + 1) / _FULL_SCALE)).astype(np.uint8)
"""Drawn value of each peak."""


def peak_samples(rate_hz: int) -> int:
    return round(PEAK_S * rate_hz)


def peaks(sound: NDArray[np.int16], block: int) -> bytes:
    """Return the peaks of frames [n, 2], n a multiple of `block`: 255 times the square root of the fraction
    of full scale.

    The square root shows quiet voices as the ear perceives them; a byte holds it for -96 dB to 0.
    """
    if not len(sound):
        return b""
    # Contiguous samples allow SIMD, in a seventh of the time.
    sides = np.ascontiguousarray(sound.T).reshape(2, -1, block)
    loudest = np.abs(sides).view(np.uint16).max(axis=2)  # unsigned, as -32,768 has no positive counterpart
    drawn: bytes = _DRAWN[loudest.T].tobytes()
    return drawn
