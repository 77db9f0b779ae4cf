"""Silence in place of sound that a line does not send. Pure: time is an argument, seconds of one clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voiceagent.session.pace import CATCH_UP_S

LATE_S = 0.08
"""How long the next packet may be overdue before silence stands in for it: longer than the jitter of a
working line. With packets of 20 ms that is 0.1 s behind the last one, less than most silences that end turns.
"""
PAUSED_LATE_S = 0.04
"""The same behind a packet that the sender's silence preceded: it sends one now and then."""
STEP_S = 0.02
"""How much silence is put in at a time from then on: as much as a packet of most lines has."""
MAX_PATIENCE_S = 1.0
"""How much longer a line is waited for whose sound was late before."""
PATIENCE_LASTS_S = 30.0
"""In this time the patience with a line that is not late any more falls to a third."""
CAUGHT_UP = 0.5
"""This part of a gap's sound, when it comes faster than real time, shows that it was late and not missing."""
SETTLES = 0.05
"""How much of a second a client that is ahead of real time is taken to be less ahead after each second: what
looks like a lead may be a burst that the network made.
"""
OVERSLEPT_S = 0.05
"""A look this much later than was asked for: the server itself stood still."""


@dataclass(slots=True)
class _Gap:
    """A gap that silence stood in for, while it is not known whether its sound comes after all.

    from_s: when sound came again. taken_s: the sound since then, without the first packet.
    """

    seconds: float
    from_s: float
    taken_s: float


class LineSilence:
    """Counts the sound of one line against the clock, and says how much silence is to stand in for the rest.

    A turn ends by its silence, which is counted in seconds of sound. A line that stops sending (mute, push to
    talk, discontinuous transmission, a suspended tab) would never end one, so time without packets is taken
    for silence.

    A client that is mute and a network that stands still look the same until sound comes again. Silence is
    assumed: a muted caller waits for the answer, and wrongly assumed silence can be made good. The sound that
    is late is taken as it comes, none of it dropped: soon after a turn's end it resumes the turn, as a voice
    after a false end does, and later it interrupts the answer. What such a line costs is bounded: after the
    first time it is waited for as long as it was late, `MAX_PATIENCE_S` at most.

    Sound that was sent ahead of real time is spoken in real time, and silence begins behind it.
    """

    def __init__(self) -> None:
        self._last_s: float | None = None  # when the last sound came; None before the first
        self._spoken_until_s = -math.inf  # when all sound so far is spoken, if the client is ahead
        self._packet_s = 0.0
        self._filled_s = 0.0  # silence since the last sound
        self._look_s = math.inf
        self._patience_s = 0.0
        self._gap: _Gap | None = None
        self._pausing = self._was_silent = False

    def took(self, seconds: float, now_s: float) -> float:
        """Count sound of the line that came now.

        Returns for how long the line stood still, once, when it turns out that its sound was late; else 0.
        """
        since_s = 0.0 if self._last_s is None else now_s - self._last_s
        if self._filled_s > 0.0:
            self._gap = _Gap(since_s, now_s, -seconds)
        ahead_s = self._spoken_until_s - now_s
        if ahead_s > 0.0:
            self._spoken_until_s -= min(ahead_s, SETTLES * since_s)
        elif self._last_s is None:
            self._spoken_until_s = now_s - seconds
        else:  # sound that was late may come faster than real time, and is not ahead
            self._spoken_until_s = max(self._spoken_until_s, now_s - CATCH_UP_S)
        self._spoken_until_s += seconds
        if self._patience_s:
            self._patience_s *= math.exp(-since_s / PATIENCE_LASTS_S)
        self._packet_s = min(seconds, MAX_PATIENCE_S)
        self._last_s, self._filled_s = now_s, 0.0
        self._pausing, self._was_silent = self._was_silent, False
        return 0.0 if self._gap is None else self._late(self._gap, seconds, now_s)

    def stands_in(self, seconds: float) -> float:
        """Return how much of a gap, which the line itself reports before the sound behind it, is still to be
        put in: silence may have stood in for it already.
        """
        self._was_silent = seconds >= LATE_S
        left_s = max(0.0, seconds - self._filled_s)
        self._filled_s = max(0.0, self._filled_s - seconds)
        return left_s

    def missing_s(self, now_s: float) -> float:
        """Return the seconds of silence to put in now, which count as put in; 0 before the first sound."""
        if self._last_s is None:
            return 0.0
        overslept_s = now_s - self._look_s
        if overslept_s > OVERSLEPT_S:
            # what came meanwhile is read first: a pause of the server's is none of the caller's
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
        """Return when to ask again."""
        late_at_s = now_s if self._last_s is None else self._late_at_s(self._last_s)
        self._look_s = late_at_s if late_at_s > now_s else now_s + STEP_S
        return self._look_s

    def rest(self) -> None:
        """Take note that nobody asks for now, so that the next question is not a late one."""
        self._look_s = math.inf

    def _late_at_s(self, last_s: float) -> float:
        """When the next sound is so late that silence stands in for it."""
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
