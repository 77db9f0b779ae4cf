"""How far ahead of real time a client's sound is. Pure: time is an argument, seconds of one clock."""

from __future__ import annotations

from voiceagent.session.call import InputOverflow

CATCH_UP_S = 30.0
"""How much late sound may come at once, as it does where client, network or server stood still: it was spoken
in real time. As long as a phone line may be without any sound (`limits.max_phone_idle_s`).
"""


class Pace:
    """The pace of one client. limit_s: how far ahead it may be. now_s: when its call begins."""

    def __init__(self, limit_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._spoken_until_s = now_s  # when all that was taken is spoken, in real time

    def take(self, seconds: float, now_s: float) -> None:
        """Takes this much more sound. Raises InputOverflow, and takes none of it, if it is too far ahead."""
        # who was silent by not sending is owed no more than that
        until_s = max(self._spoken_until_s, now_s - CATCH_UP_S) + seconds
        if until_s - now_s > self._limit_s:
            raise InputOverflow(until_s - now_s, self._limit_s)
        self._spoken_until_s = until_s
