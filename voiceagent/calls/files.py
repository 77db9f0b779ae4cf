"""The files of a kept call. A disk that is full or fails is told to whoever asks, and tried again: what could
not be written waits, up to a bound, and nothing here raises for it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from struct import pack

import av
import numpy as np

from voiceagent.calls.log.peaks import PEAK_BYTES, peak_samples, peaks
from voiceagent.calls.log.placement import Stereo

MAX_WAITING_BYTES = 1 << 20
"""How much of one file may wait while its disk takes nothing."""
Failed = Callable[[OSError], None]

_WAV_HEADER_BYTES = 44
_FRAME_BYTES = 4  # two samples of 16 bits


class AppendedFile:
    """A file that grows. failed: told each time when the disk takes nothing.

    It is locked while its process lives, so that another one can tell whether the call still goes on.
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
        """Whether more may be appended."""
        return len(self._waiting) < MAX_WAITING_BYTES

    @property
    def waiting_lines(self) -> int:
        """Lines that the disk has not taken."""
        return self._waiting.count(b"\n")

    def append(self, data: bytes) -> None:
        """Append bytes, now or as soon as the disk takes them."""
        self._waiting += data

    def flush(self) -> bool:
        """Write what waits; whether all of it is written."""
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
        """Write what waits and close; whether all of it was written. What was not is lost."""
        complete = self.flush()
        if self._file is not None:
            os.close(self._file)
            self._file = None
        return complete


class WavRecording:
    """16-bit stereo PCM. Its header holds at every moment, and sound that could not be written is silence."""

    suffix = ".wav"

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._path = path
        self._rate_hz = rate_hz
        self._failed = failed
        self._file: int | None = None

    def write(self, since: int, sound: Stereo) -> bool:
        """Write frames [n, 2] from sample `since` on; whether the disk took them."""
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
        """Nothing more comes."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _header(self, data_bytes: int) -> bytes:
        """RIFF/WAVE of PCM (Multimedia Programming Interface and Data Specifications 1.0, 1991)."""
        rate = self._rate_hz
        form = pack("<4sIHHIIHH", b"fmt ", 16, 1, 2, rate, rate * _FRAME_BYTES, _FRAME_BYTES, 16)
        return (
            pack("<4sI4s", b"RIFF", _WAV_HEADER_BYTES - 8 + data_bytes, b"WAVE")
            + form
            + pack("<4sI", b"data", data_bytes)
        )


class OpusRecording:
    """Opus in Ogg (RFC 7845), stereo. Pages that could not be written are missing; the others keep time."""

    suffix = ".ogg"

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._file = AppendedFile(path, failed)
        # Half a second a page, each handed on when it is full.
        options = {"page_duration": "500000", "flush_packets": "1"}
        self._container = av.open(_Pages(self._file), "w", format="ogg", container_options=options)
        quality = {"b": "48000", "compression_level": "0"}
        self._stream = self._container.add_stream("libopus", rate=rate_hz, layout="stereo", options=quality)
        self._rate_hz = rate_hz
        self._encoded = 0

    def write(self, since: int, sound: Stereo) -> bool:
        """As `WavRecording.write`; what no write covered is silence."""
        if since > self._encoded:
            self._encode(np.zeros((since - self._encoded, 2), np.int16))
        self._encode(sound)
        return self._file.flush()

    def close(self) -> None:
        """Nothing more comes."""
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
    """How loud both sides of a recording are, to be drawn: two bytes, caller and agent, each 20 ms, made by
    `peaks`. What could not be written is silence.
    """

    def __init__(self, path: Path, rate_hz: int, failed: Failed) -> None:
        self._path = path
        self._block = peak_samples(rate_hz)
        self._failed = failed
        self._file: int | None = None
        self._rest: Stereo = np.zeros((0, 2), np.int16)

    def write(self, since: int, sound: Stereo) -> None:
        """The next frames [n, 2], from sample `since` on; what makes no whole block waits for more."""
        first = (since - len(self._rest)) // self._block
        sound = np.concatenate((self._rest, sound))
        whole = len(sound) // self._block * self._block
        self._rest = sound[whole:]
        self._put(peaks(sound[:whole], self._block), first)

    def close(self) -> None:
        """Nothing more comes."""
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
    """What PyAV writes to. A page for which there is no room is lost whole."""

    def __init__(self, file: AppendedFile) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        if self._file.has_room:
            self._file.append(bytes(data))
        return len(data)


def open_locked(path: Path) -> int:
    """The descriptor of a file, made if there is none, that no other process has open this way. Raises
    BlockingIOError where one has, and OSError.
    """
    return _locked(_open(path))


def lock_existing(path: Path) -> int:
    """As `open_locked`, for a file that must be there. Raises FileNotFoundError, BlockingIOError, OSError."""
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
