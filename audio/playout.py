"""Paces one response's sound out in frames, and knows to the sample what was sent and what was played.

The remote is taken to play from the first frame on without a break for as long as it has sound; where sound
runs out its playback waits for the next frame. So one number is enough: when the remote will have played
everything that was sent. A transport that learns what was played adds a second number: how far the remote is
behind that. It moves what was played, not the pace: reports come late by a way there and back, and a remote
that was sent less on their account would run dry.

The lead is short by default. Frames that were sent can be neither ducked nor taken back, so the lead is what
a caller's interruption waits for on top of its detection; 60 ms still cover a busy event loop. A transport
that can drop what it sent (Twilio's `clear`), or whose network stutters, may take more.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from audio.pcm import Samples

DUCKED_GAIN = 10 ** (-15 / 20)
"""The gain of a ducked voice: quiet enough to speak over, loud enough not to seem gone."""
GLIDE_S = 0.005
"""How long the gain takes to change: too short to wait for, too long to click."""
UNREPORTED_S = 1.0
"""So much can be played beyond the newest report: what lies between two, and the way of one."""
LOST_REPORTS_S = 20.0
"""Without a report for so long the clock tells alone: the remote has lost them."""
_TOLERANCE_S = 1e-6
"""A frame is due this much early, so that rounding never makes a timer fire in vain."""


class Reports:
    """What the remote of a call tells of the sound that it has played. One that tells while it plays, as by
    marks, has not played what it does not tell of: its line stands still.
    """

    def __init__(self) -> None:
        self._tells = False
        self._played_s = self._at_s = 0.0

    def begin(self, now_s: float) -> None:
        """Another response begins."""
        self._played_s, self._at_s = 0.0, now_s

    def take(self, played_s: float, now_s: float) -> None:
        """So much of the response was played."""
        self._tells = True
        self._played_s, self._at_s = played_s, now_s

    def most_s(self, now_s: float) -> float:
        """How much of the response can have been played by now."""
        if not self._tells or now_s > self._at_s + LOST_REPORTS_S:
            return math.inf
        return self._played_s + UNREPORTED_S


class Playout:
    """The sound of one response, at `rate_hz`, in frames of `frame_s`, at most `lead_s` ahead of real time.

    `now_s` is any monotonic clock. The queue has no bound of its own: hold the synthesizer back by
    `unsent_s`. reports: what the remote tells, of this response too. Raises ValueError where the lead is
    shorter than a frame.
    """

    def __init__(
        self, rate_hz: int, frame_s: float = 0.02, lead_s: float = 0.06, reports: Reports | None = None
    ) -> None:
        if lead_s < frame_s:
            raise ValueError(f"lead_s is {lead_s}; it must hold a frame of {frame_s} s")
        self._rate_hz = rate_hz
        self._frame_samples = round(frame_s * rate_hz)
        self._least_s = lead_s - self._frame_samples / rate_hz  # ahead before the next frame is due
        self._reports = reports or Reports()
        self._queue: deque[Samples] = deque()
        self._queued_samples = 0  # all that was ever queued
        self._sent_samples = 0
        self._played_out_at_s: float | None = None  # when the remote has played all that was sent
        self._behind_s = 0.0  # so much later it really has, by its own reports
        self._played_at_stop_s: float | None = None
        self._complete = False
        self._gain = self._wanted_gain = 1.0
        self._held = False

    @property
    def sent_s(self) -> float:
        """Seconds of sound handed out."""
        return self._sent_samples / self._rate_hz

    @property
    def unsent_s(self) -> float:
        """Seconds of sound that wait."""
        return (self._queued_samples - self._sent_samples) / self._rate_hz

    @property
    def all_sent(self) -> bool:
        """Whether all the sound there will ever be was handed out; true after `stop`."""
        return self._complete and self._sent_samples == self._queued_samples

    def all_played(self, now_s: float) -> bool:
        """Whether all the sound there will ever be was played, or the playout stopped."""
        return self.all_sent and self._unplayed_s(now_s) <= _TOLERANCE_S

    def played_s(self, now_s: float) -> float:
        """Seconds of the response that the remote has played; never more than was sent."""
        if self._played_at_stop_s is not None:
            return self._played_at_stop_s
        return max(0.0, self.sent_s - self._unplayed_s(now_s))

    def queue(self, samples: Samples) -> None:
        """Add sound [n]. After `finish` or `stop` it is ignored."""
        if not self._complete and len(samples):
            self._queue.append(samples)
            self._queued_samples += len(samples)

    def finish(self) -> None:
        """No more sound will come; the last frame need not be full."""
        self._complete = True

    def due(self, now_s: float) -> list[Samples]:
        """Frames to send now, each `frame_s` long; a finished response's last one is filled up with zeros."""
        frames = []
        while self._has_frame() and self._frame_due_s(now_s) <= now_s + _TOLERANCE_S:
            frames.append(self._send_frame(now_s))
        return frames

    def next_due_s(self, now_s: float) -> float | None:
        """When to look again: for the next frame or, once all is sent, for the end of what is played.

        None where only more sound, or nothing at all, can change anything.
        """
        if self._has_frame():
            return self._frame_due_s(now_s)
        if self.all_sent and not self.all_played(now_s):
            return now_s + self._unplayed_s(now_s)
        return None

    def stop(self, now_s: float) -> float:
        """Drop what was not sent; what was sent but not played, the transport drops. Returns `played_s`."""
        self._played_at_stop_s = self.played_s(now_s)
        self._queue.clear()
        self._queued_samples = self._sent_samples
        self._played_out_at_s = None
        self._complete = True
        return self._played_at_stop_s

    def reported(self, played_s: float, now_s: float) -> None:
        """A transport that knows better says how much the remote has played by now; goes on from there."""
        if self._played_out_at_s is not None:
            unplayed_s = self.sent_s - min(max(played_s, 0.0), self.sent_s)
            self._behind_s = now_s + unplayed_s - self._played_out_at_s

    def duck(self) -> None:
        """Lower the voice from the next frame on, gliding within that frame."""
        self._wanted_gain = DUCKED_GAIN

    def restore(self) -> None:
        """Bring the voice back from the next frame on, gliding within that frame; goes on where it was
        held.
        """
        self._wanted_gain = 1.0
        self._held = False

    def hold(self) -> None:
        """Send nothing more until `restore`: the remote falls silent when it has played what it was sent."""
        self._held = True

    def _unplayed_s(self, now_s: float) -> float:
        """Sound that was sent and that the remote has not played."""
        if self._played_out_at_s is None:
            return 0.0
        by_reports_s = self.sent_s - self._reports.most_s(now_s)
        return max(0.0, self._played_out_at_s + self._behind_s - now_s, by_reports_s)

    def _has_frame(self) -> bool:
        if self._held:
            return False
        waiting = self._queued_samples - self._sent_samples
        return waiting >= self._frame_samples or (self._complete and waiting > 0)

    def _frame_due_s(self, now_s: float) -> float:
        if self._played_out_at_s is None:
            return now_s
        return max(now_s, self._played_out_at_s - self._least_s)

    def _send_frame(self, now_s: float) -> Samples:
        samples = self._take()
        if self._played_out_at_s is None or now_s > self._played_out_at_s:  # the remote has run dry
            self._played_out_at_s = now_s
        self._sent_samples += len(samples)
        self._played_out_at_s += len(samples) / self._rate_hz
        if len(samples) < self._frame_samples:
            samples = np.concatenate((samples, np.zeros(self._frame_samples - len(samples), np.int16)))
        return self._with_gain(samples)

    def _take(self) -> Samples:
        """The next frame's samples, fewer where the queue runs out. They are copied only where two pieces of
        sound meet.
        """
        parts: list[Samples] = []
        missing = self._frame_samples
        while missing and self._queue:
            head = self._queue.popleft()
            if len(head) > missing:
                self._queue.appendleft(head[missing:])
            parts.append(head[:missing])
            missing -= len(parts[-1])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _with_gain(self, frame: Samples) -> Samples:
        """The frame, its gain gliding to the wanted one; untouched at full gain."""
        if self._gain == self._wanted_gain == 1.0:
            return frame
        gliding = round(GLIDE_S * self._rate_hz)
        glide = np.full(len(frame), self._wanted_gain)
        glide[:gliding] = np.linspace(self._gain, self._wanted_gain, gliding)[: len(frame)]
        self._gain = self._wanted_gain
        lowered: Samples = np.rint(frame * glide).astype(np.int16)
        return lowered
