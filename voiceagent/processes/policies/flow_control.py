"""How much of a stream may be unread at the other end: credit, as in HTTP/2 (RFC 9113, section 5.2). Pure.

Sizes are bytes on the wire. Both ends of a stream know its window. A reader gives credit back a quarter of
the window at a time, which costs few messages and few wake-ups; so up to a quarter may always be owed.
"""

from __future__ import annotations

_OWED = 4
"""A reader gives back one of this many parts of a window at a time."""


class SendWindow:
    """What may be sent of a stream."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._unread = 0

    def has_room(self, size: int) -> bool:
        """Whether a frame may go now; one near to the window or over it goes once nearly all is read."""
        # a frame larger than the window must go at some time: when nearly nothing is unread
        unread = self._unread + size
        return unread <= self._window or self._unread < self._window // _OWED or not self._unread

    def sent(self, size: int) -> None:
        """A frame went."""
        self._unread += size

    def credited(self, size: int) -> None:
        """The other end has read so much."""
        self._unread -= size


class ReceiveWindow:
    """What was read of a stream."""

    def __init__(self, window: int) -> None:
        self._portion = window // _OWED
        self._owed = 0

    def read(self, size: int) -> int:
        """A frame was read; the credit to give back now, mostly 0."""
        self._owed += size
        if self._owed < self._portion:
            return 0
        credit, self._owed = self._owed, 0
        return credit
