"""Silence in place of audio that a line does not send. Times are seconds of one clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voiceagent.session.call import InputOverflow

CATCH_UP_S = 30.0
"""Maximum late audio that may arrive at once, after a stall of client, network or server: it was spoken in
real time. Equals the time that a phone line may be without any audio (`limits.max_phone_idle_s`).
"""


class InputRateLimiter:
    """Rate limit of one client. limit_s: maximum lead over real time. now_s: start of its call."""

    def __init__(self, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._spoken_until_s = now_s  # time at which all audio so far is spoken, in real time

    def count(self, seconds: float, now_s: float) -> None:
        """Count audio. Raises InputOverflow, and counts none of it, if it is too far ahead."""
        # a client that paused sending may catch up by at most `CATCH_UP_S`
        until_s = max(self._spoken_until_s, now_s - CATCH_UP_S) + seconds
        if until_s - now_s > self._limit_s:
            raise InputOverflow(until_s - now_s, self._limit_s)
        self._spoken_until_s = until_s


LATE_S = 0.08
"""Delay of a packet after which silence stands in for it. It is longer than the jitter of a working line.
With packets of 20 ms that is 0.1 s after the last one, less than most silences that end turns.
"""
PAUSED_LATE_S = 0.04
"""Delay of a packet that follows the sender's own silence: such a sender sends packets now and then."""
STEP_S = 0.02
"""Silence that is inserted at a time after that: the length of most lines' packets."""
MAX_PATIENCE_S = 1.0
"""Maximum additional wait for a line whose sound was late before."""
PATIENCE_LASTS_S = 30.0
"""Time in which the additional wait falls to a third if the line is no longer late."""
CAUGHT_UP = 0.5
"""Part of a gap's audio that must arrive faster than real time to show that it was late, not missing."""
SETTLES = 0.05
"""Seconds by which a client's assumed lead shrinks each second. It may be a burst of the network."""
OVERSLEPT_S = 0.05
"""Delay of a check that shows that the server itself stalled."""


@dataclass(slots=True)
class _Gap:
    """A gap that was filled with silence, while its audio may still arrive.

    from_s: time at which audio arrived again. taken_s: audio since then, without the first packet.
    """

    seconds: float
    from_s: float
    taken_s: float


class LineSilence:
    """Audio of one line compared with the clock: computes the silence that replaces missing audio.

    The silence that ends a turn is counted in seconds of audio. A line that stops sending (mute, push to
    talk, discontinuous transmission, a suspended tab) would never end a turn, so time without packets
    counts as silence.

    Until audio arrives again, a muted client and a stalled network look the same. Silence is assumed: a
    muted caller waits for the answer, and the mistake can be repaired. Late audio is used in full. Soon
    after a turn's end it resumes the turn, like a voice after a false end; later it interrupts the answer.
    The cost is bounded: after the first stall the line is waited for as long as it was late, at most
    `MAX_PATIENCE_S`.

    Audio sent ahead of real time is taken to be spoken in real time; silence begins after it.
    """

    def __init__(self) -> None:
        self._last_s: float | None = None  # arrival of the last audio; None before the first
        self._spoken_until_s = -math.inf  # end of all audio so far in real time, if the client is ahead
        self._packet_s = 0.0
        self._filled_s = 0.0  # silence inserted since the last audio
        self._look_s = math.inf
        self._patience_s = 0.0
        self._gap: _Gap | None = None
        self._pausing = self._was_silent = False

    def add_audio(self, seconds: float, now_s: float) -> float:
        """Count audio that arrived now.

        Return the length of a stall, once, when its audio turns out to be late; 0 otherwise.
        """
        since_s = 0.0 if self._last_s is None else now_s - self._last_s
        if self._filled_s > 0.0:
            self._gap = _Gap(since_s, now_s, -seconds)
        ahead_s = self._spoken_until_s - now_s
        if ahead_s > 0.0:
            self._spoken_until_s -= min(ahead_s, SETTLES * since_s)
        elif self._last_s is None:
            self._spoken_until_s = now_s - seconds
        elif ahead_s < -CATCH_UP_S:  # late audio may arrive faster than real time without being ahead
            self._spoken_until_s = now_s - CATCH_UP_S
        self._spoken_until_s += seconds
        if self._patience_s:
            self._patience_s *= math.exp(-since_s / PATIENCE_LASTS_S)
        self._packet_s = min(seconds, MAX_PATIENCE_S)
        self._last_s, self._filled_s = now_s, 0.0
        self._pausing, self._was_silent = self._was_silent, False
        return 0.0 if self._gap is None else self._late(self._gap, seconds, now_s)

    def unfilled_s(self, seconds: float) -> float:
        """Return the seconds of a gap that are still to be filled with silence. The line reports a gap when
        sound follows it, and part of it may have been filled while nothing came.
        """
        self._was_silent = seconds >= LATE_S
        left_s = max(0.0, seconds - self._filled_s)
        self._filled_s = max(0.0, self._filled_s - seconds)
        return left_s

    def missing_s(self, now_s: float) -> float:
        """Return the seconds of silence to insert now, and count them; 0 before the first audio."""
        if self._last_s is None:
            return 0.0
        overslept_s = now_s - self._look_s
        if overslept_s > OVERSLEPT_S:
            # read waiting packets first: a stall of the server is not a silence of the caller
            self._last_s += overslept_s
            self._spoken_until_s += overslept_s
            return 0.0
        if now_s < self._late_at_s(self._last_s):
            return 0.0
        silent_s = now_s - max(self._last_s, self._spoken_until_s)
        missing_s = max(0.0, silent_s - self._filled_s)
        self._filled_s += missing_s
        return missing_s

    def next_s(self, now_s: float) -> float:
        """Return the time of the next check."""
        late_at_s = now_s if self._last_s is None else self._late_at_s(self._last_s)
        self._look_s = late_at_s if late_at_s > now_s else now_s + STEP_S
        return self._look_s

    def rest(self) -> None:
        """Record that no check is scheduled, so that the next one does not count as late."""
        self._look_s = math.inf

    def _late_at_s(self, last_s: float) -> float:
        """Return the time from which silence stands in for the next audio."""
        wait_s = PAUSED_LATE_S if self._pausing else LATE_S + self._patience_s
        return max(last_s + self._packet_s, self._spoken_until_s) + wait_s

    def _late(self, gap: _Gap, seconds: float, now_s: float) -> float:
        gap.taken_s += seconds
        passed_s = now_s - gap.from_s
        if gap.taken_s - passed_s >= CAUGHT_UP * gap.seconds:
            self._patience_s = min(max(self._patience_s, gap.seconds), MAX_PATIENCE_S)
            self._gap = None
            return gap.seconds
        if passed_s > max(gap.seconds, MAX_PATIENCE_S):
            self._gap = None
        return 0.0
