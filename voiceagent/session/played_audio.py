"""The agent's newest audio, by its position in the caller's audio."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from audio.pcm import Samples

KEPT_S = 2.5
"""Seconds of audio that are kept: more than the longest echo measurement and its delay."""
_SPARE_S = 0.5
"""Audio beyond `KEPT_S` that may be kept until it is cut off, so that few frames move the rest in memory."""
_SAMPLE_BYTES = 2
_ROUNDING_S = 1e-6


@dataclass(slots=True)
class _Stretch:
    """Audio without a gap, from this position on. response_id: "" for audio of no response. played_s: the
    position of its beginning in the response.
    """

    at_s: float
    response_id: str
    played_s: float
    sound: bytearray = field(default_factory=bytearray)


class PlayedAudio:
    """Buffer of the frames that were sent. rate_hz: of the call's output."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._max_bytes = self._bytes(KEPT_S + _SPARE_S)
        self._stretches: deque[_Stretch] = deque()  # a frame of its own would cost several times its samples
        self._newest: _Stretch | None = None
        self._end_s = 0.0  # of the newest frame
        self._response_id = ""
        self._played_s = 0.0  # of that response, before the newest stretch

    @property
    def end_s(self) -> float:
        """Position at which the newest frame ends; 0 before the first."""
        return self._end_s

    def play(self, sound: Samples, at_s: float, response_id: str) -> None:
        """Add a frame [n] that is sent at this position. It follows the frames that are still played then."""
        newest = self._newest
        if newest is None or at_s > self._end_s + _ROUNDING_S or newest.response_id != response_id:
            newest = self._begin(max(at_s, self._end_s), response_id)
        newest.sound += sound.data
        self._end_s += len(sound) / self.rate_hz
        if len(newest.sound) > self._max_bytes:
            self._cut(newest, len(newest.sound) - self._bytes(KEPT_S))

    def drop(self, at_s: float) -> None:
        """Drop the audio after this position, which was not played."""
        while self._stretches and self._stretches[-1].at_s >= at_s:
            self._stretches.pop()
        self._newest = None
        if self._stretches:
            newest = self._newest = self._stretches[-1]
            del newest.sound[self._bytes(at_s - newest.at_s) :]
        self._end_s = min(self._end_s, at_s)

    def change_rate(self, rate_hz: int) -> None:
        """Change the sample rate, and forget the audio of another one."""
        if rate_hz != self.rate_hz:
            self.rate_hz = rate_hz
            self._max_bytes = self._bytes(KEPT_S + _SPARE_S)
            self._stretches.clear()
            self._newest = None

    def release(self) -> None:
        """Free the memory of the audio. `position` is still known."""
        for stretch in self._stretches:
            self._cut(stretch, len(stretch.sound))

    def between(self, from_s: float, until_s: float) -> Samples:
        """Return the audio of this part [n], silence where there was none."""
        sound: Samples = np.zeros(max(0, round((until_s - from_s) * self.rate_hz)), np.int16)
        for stretch in self._stretches:
            begin = round((stretch.at_s - from_s) * self.rate_hz)
            kept = np.frombuffer(stretch.sound, np.int16)
            part = kept[max(0, -begin) : max(0, len(sound) - begin)]
            sound[max(0, begin) : max(0, begin) + len(part)] = part
        return sound

    def position(self, at_s: float) -> tuple[str, float]:
        """Return the response that was played at this position, and the seconds of it that were played by
        then, including the silence after its end; "" if none was within `KEPT_S`.
        """
        for stretch in reversed(self._stretches):
            if stretch.response_id and stretch.at_s <= at_s:
                return stretch.response_id, stretch.played_s + at_s - stretch.at_s
        return "", 0.0

    def _begin(self, at_s: float, response_id: str) -> _Stretch:
        """Return a new stretch, and forget the stretches that are too old."""
        newest = self._newest
        if newest is not None and newest.response_id:
            self._response_id = newest.response_id
            self._played_s = newest.played_s + self._seconds(newest)
        while self._stretches:
            oldest = self._stretches[0]
            if oldest.at_s + self._seconds(oldest) >= at_s - KEPT_S:
                break
            self._stretches.popleft()
        played_s = self._played_s if response_id == self._response_id else 0.0
        self._newest = _Stretch(at_s, response_id, played_s)
        self._stretches.append(self._newest)
        self._end_s = at_s
        return self._newest

    def _cut(self, stretch: _Stretch, count_bytes: int) -> None:
        """Forget the beginning of a stretch."""
        seconds = count_bytes / (_SAMPLE_BYTES * self.rate_hz)
        stretch.at_s += seconds
        stretch.played_s += seconds
        del stretch.sound[:count_bytes]

    def _seconds(self, stretch: _Stretch) -> float:
        return len(stretch.sound) / (_SAMPLE_BYTES * self.rate_hz)

    def _bytes(self, seconds: float) -> int:
        return _SAMPLE_BYTES * round(seconds * self.rate_hz)
