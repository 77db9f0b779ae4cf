"""The agent's newest audio, by its position in the caller's audio."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from audio.pcm import Samples

KEPT_S = 2.5
"""Seconds of audio that are kept, 120 kB at 24 kHz: more than the longest echo measurement and its delay."""


class _Frame(NamedTuple):  # made for each frame: a frozen dataclass takes twice the time
    """A frame at this position. response_id: "" for audio of no response. played_s: its position in that."""

    at_s: float
    response_id: str
    played_s: float
    sound: Samples


class PlayedAudio:
    """Buffer of the frames that were sent. rate_hz: of the call's output."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._frames: deque[_Frame] = deque()
        self._end_s = 0.0  # of the newest frame
        self._response_id = ""
        self._played_s = 0.0

    @property
    def end_s(self) -> float:
        """Position at which the newest frame ends; 0 before the first."""
        return self._end_s

    def play(self, sound: Samples, at_s: float, response_id: str) -> None:
        """Add a frame [n] that is sent at this position. It follows the frames that are still played then."""
        begin_s = max(at_s, self._end_s)
        seconds = len(sound) / self.rate_hz
        sound = sound.copy()  # a view would keep the whole response in memory
        if response_id:
            if response_id != self._response_id:
                self._response_id, self._played_s = response_id, 0.0
            self._frames.append(_Frame(begin_s, response_id, self._played_s, sound))
            self._played_s += seconds
        else:
            self._frames.append(_Frame(begin_s, "", 0.0, sound))
        self._end_s = begin_s + seconds
        while self._frames[0].at_s < self._end_s - KEPT_S:
            self._frames.popleft()

    def drop(self, at_s: float) -> None:
        """Drop the frames after this position, which were not played."""
        while self._frames and self._frames[-1].at_s >= at_s:
            self._frames.pop()
        self._end_s = min(self._end_s, at_s)

    def change_rate(self, rate_hz: int) -> None:
        """Change the sample rate, and forget the audio of another one."""
        if rate_hz != self.rate_hz:
            self.rate_hz = rate_hz
            self._frames.clear()

    def between(self, from_s: float, until_s: float) -> Samples:
        """Return the audio of this part [n], silence where there was none."""
        sound: Samples = np.zeros(max(0, round((until_s - from_s) * self.rate_hz)), np.int16)
        for frame in self._frames:
            begin = round((frame.at_s - from_s) * self.rate_hz)
            part = frame.sound[max(0, -begin) : max(0, len(sound) - begin)]
            sound[max(0, begin) : max(0, begin) + len(part)] = part
        return sound

    def position(self, at_s: float) -> tuple[str, float]:
        """Return the response that was played at this position, and the seconds of it that were played by
        then, including the silence after its end; "" if none was within `KEPT_S`.
        """
        for frame in reversed(self._frames):
            if frame.response_id and frame.at_s <= at_s:
                return frame.response_id, frame.played_s + at_s - frame.at_s
        return "", 0.0
