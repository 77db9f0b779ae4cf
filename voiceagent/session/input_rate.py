"""Input rate limit: how far a client's audio may be ahead of real time."""

from __future__ import annotations

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
