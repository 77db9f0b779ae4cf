"""Playout: paces a response's audio out in frames, and tracks to the sample what was sent and played.

The client is assumed to play from the first frame without a break while it has audio; when audio runs out,
playback waits for the next frame. So one number suffices: when the client will have played everything sent. A
transport that learns what was played adds a second number, how far the client is behind that. It corrects
what was played, not the pace: reports are late by a round trip, and a client that was sent less on their
account would run dry. If other audio is sent between its frames (`follow`), a list of these gaps is kept.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from audio.pcm import Samples

DUCKED_GAIN = 10 ** (-15 / 20)
"""Gain of ducked audio: quiet enough to speak over, loud enough not to seem gone."""
LEAD_S = 0.06
"""Audio sent ahead of real time. Sent frames can be neither ducked nor taken back, so an interruption waits
for the lead on top of its detection. Three frames still cover a busy event loop, and leave two at the remote
end if one is a tick late.
"""
GLIDE_S = 0.005
"""Duration of a gain change: too short to wait for, too long to click."""
UNREPORTED_S = 1.0
"""Maximum audio played beyond the newest report: the interval of reports plus the way of one."""
LOST_REPORTS_S = 20.0
"""Reports count as lost after this long without one; then the clock alone decides."""
_TOLERANCE_S = 1e-6
"""Frames are due this much early, so that rounding never makes a timer fire in vain."""


class Reports:
    """Playback reports of one call's client.

    A client that reports while it plays, by marks for example, has not played what it has not reported: its
    connection stalls.
    """

    def __init__(self) -> None:
        self._has_reports = False
        self._played_s = self._at_s = 0.0

    def begin(self, now_s: float) -> None:
        """Reset for the next response."""
        self._played_s, self._at_s = 0.0, now_s

    def add(self, played_s: float, now_s: float) -> None:
        """Record that the client has played `played_s` of the response."""
        self._has_reports = True
        self._played_s, self._at_s = played_s, now_s

    def max_played_s(self, now_s: float) -> float:
        """Return the maximum of the response that can have been played, in seconds; inf without reports."""
        if not self._has_reports or now_s > self._at_s + LOST_REPORTS_S:
            return math.inf
        return self._played_s + UNREPORTED_S


class Playout:
    """Audio of one response at `rate_hz`, in frames of `frame_s`, sent at most `lead_s` ahead of real time.

    `now_s` is any monotonic clock. The queue is unbounded: limit the synthesizer by `unsent_s`. reports: the
    client's, reset for this response. Raises ValueError if the lead is shorter than a frame.
    """

    def __init__(
        self, rate_hz: int, frame_s: float = 0.02, lead_s: float = LEAD_S, reports: Reports | None = None
    ) -> None:
        if lead_s < frame_s:
            raise ValueError(f"lead_s is {lead_s}; it must hold a frame of {frame_s} s")
        self._rate_hz = rate_hz
        self._frame_samples = round(frame_s * rate_hz)
        self._least_s = lead_s - self._frame_samples / rate_hz  # ahead before the next frame is due
        self._reports = reports or Reports()
        self._queue: deque[Samples] = deque()
        self._queued_samples = 0  # in total, sent ones included
        self._sent_samples = 0
        self._played_out_at_s: float | None = None  # when the client should have played all sent audio
        self._behind_s = 0.0  # how much later it really has, by its own reports
        self._busy_until_s = -math.inf  # the same with other audio, see `follow`
        self._gaps: list[tuple[float, float]] = []  # other audio between two frames, in order
        self._played_at_stop_s: float | None = None
        self._complete = False
        self._gain = self._target_gain = 1.0
        self._held = False

    @property
    def sent_s(self) -> float:
        """Seconds of audio sent."""
        return self._sent_samples / self._rate_hz

    @property
    def unsent_s(self) -> float:
        """Seconds of audio queued."""
        return (self._queued_samples - self._sent_samples) / self._rate_hz

    @property
    def sent_until_s(self) -> float:
        """Time at which the client should have played all sent audio; -inf if none was sent."""
        return -math.inf if self._played_out_at_s is None else self._played_out_at_s

    @property
    def has_frame(self) -> bool:
        """True if a frame is ready to be sent once it is due."""
        if self._held:
            return False
        waiting = self._queued_samples - self._sent_samples
        return waiting >= self._frame_samples or (self._complete and waiting > 0)

    @property
    def all_sent(self) -> bool:
        """True if the response is complete and all of it was sent; true after `stop`."""
        return self._complete and self._sent_samples == self._queued_samples

    def all_played(self, now_s: float) -> bool:
        """Return True if the whole response was played, or the playout stopped."""
        return self.all_sent and self._unplayed_s(now_s) <= _TOLERANCE_S

    def played_s(self, now_s: float) -> float:
        """Return the seconds that the client has played; never more than was sent."""
        if self._played_at_stop_s is not None:
            return self._played_at_stop_s
        return max(0.0, self.sent_s - self._unplayed_s(now_s))

    def queue(self, samples: Samples) -> None:
        """Add audio [n]. Ignored after `finish` or `stop`."""
        if not self._complete and len(samples):
            self._queue.append(samples)
            self._queued_samples += len(samples)

    def finish(self) -> None:
        """Mark the audio as complete; the last frame may be partial."""
        self._complete = True

    def due(self, now_s: float) -> list[Samples]:
        """Return the frames to send now, each `frame_s` long; the last one of a response is zero-padded."""
        frames = []
        while self.has_frame and self._frame_due_s(now_s) <= now_s + _TOLERANCE_S:
            frames.append(self._send_frame(now_s))
        return frames

    def next_due_s(self, now_s: float) -> float | None:
        """Return when to call again: for the next frame or, once all is sent, for the end of playback.

        None if only more audio can change anything.
        """
        if self.has_frame:
            return self._frame_due_s(now_s)
        if self.all_sent and not self.all_played(now_s):
            return now_s + self._unplayed_s(now_s)
        return None

    def follow(self, until_s: float) -> None:
        """Play the next frame after other audio, which the client should have played at `until_s`. This
        response's own frames may be included.
        """
        self._busy_until_s = max(self._busy_until_s, until_s)

    def dropped_s(self, now_s: float) -> float:
        """Return the seconds of audio that a client drops if it clears its buffer now, other audio too."""
        return max(0.0, self._busy_until_s + self._behind_s - now_s, self.sent_s - self.played_s(now_s))

    def stop(self, now_s: float) -> float:
        """Drop unsent audio and return `played_s`. The transport drops audio that was sent but not played."""
        self._played_at_stop_s = self.played_s(now_s)
        self._queue.clear()
        self._queued_samples = self._sent_samples
        self._played_out_at_s = None
        self._complete = True
        return self._played_at_stop_s

    def reported(self, played_s: float, now_s: float) -> None:
        """Correct the playback position: the client has played `played_s` by now."""
        if self._played_out_at_s is not None:
            unplayed_s = self.sent_s - min(max(played_s, 0.0), self.sent_s)
            due_s = self._played_out_at_s - unplayed_s
            for begin_s, end_s in reversed(self._gaps):
                if due_s <= end_s + _TOLERANCE_S:  # a report comes at the end of a frame
                    due_s -= end_s - begin_s
            self._behind_s = now_s - due_s

    def duck(self) -> None:
        """Lower the gain from the next frame on, gliding within that frame."""
        self._target_gain = DUCKED_GAIN

    def restore(self) -> None:
        """Restore full gain from the next frame on, gliding within that frame, and resume after `hold`."""
        self._target_gain = 1.0
        self._held = False

    def hold(self) -> None:
        """Send nothing until `restore`. The client falls silent once it has played what was sent."""
        self._held = True

    def _unplayed_s(self, now_s: float) -> float:
        """Return the seconds of sent audio that the client has not played."""
        if self._played_out_at_s is None:
            return 0.0
        by_reports_s = self.sent_s - self._reports.max_played_s(now_s)
        unplayed_s = self._played_out_at_s + self._behind_s - now_s
        if self._gaps:
            at_s = now_s - self._behind_s
            unplayed_s -= sum(max(0.0, end_s - max(begin_s, at_s)) for begin_s, end_s in self._gaps)
        return max(0.0, unplayed_s, by_reports_s)

    def _frame_due_s(self, now_s: float) -> float:
        return max(now_s, self._busy_until_s - self._least_s)

    def _send_frame(self, now_s: float) -> Samples:
        samples = self._pop_frame()
        if self._played_out_at_s is None or now_s > self._played_out_at_s:  # the client has run dry
            begins_s = now_s
        else:
            begins_s = self._played_out_at_s
        if self._busy_until_s > begins_s:
            if self._played_out_at_s is not None:
                self._gaps.append((self._played_out_at_s, self._busy_until_s))
            begins_s = self._busy_until_s
        self._sent_samples += len(samples)
        self._played_out_at_s = self._busy_until_s = begins_s + len(samples) / self._rate_hz
        if len(samples) < self._frame_samples:
            samples = np.concatenate((samples, np.zeros(self._frame_samples - len(samples), np.int16)))
        return self._with_gain(samples)

    def _pop_frame(self) -> Samples:
        """Remove and return the next frame's samples, fewer if it runs out. Copies only if chunks join."""
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
        """Return the frame with its gain gliding to the wanted one; unchanged at full gain."""
        if self._gain == self._target_gain == 1.0:
            return frame
        gliding = round(GLIDE_S * self._rate_hz)
        glide = np.full(len(frame), self._target_gain)
        glide[:gliding] = np.linspace(self._gain, self._target_gain, gliding)[: len(frame)]
        self._gain = self._target_gain
        lowered: Samples = np.rint(frame * glide).astype(np.int16)
        return lowered
