"""Flow control of streams by credit, as in HTTP/2 (RFC 9113, section 5.2).

Sizes are bytes on the wire. Both ends of a stream know its window. A reader returns credit in quarters of the
window, for few messages and few wake-ups, so up to a quarter may be outstanding at any time.
"""

from __future__ import annotations

_PORTIONS = 4
"""Credit is returned in portions of one window divided by this."""


class SendWindow:
    """Unread bytes of a stream at the other end."""

    def __init__(self, window: int) -> None:
        self._window = window
        self._unread = 0

    def has_room(self, size: int) -> bool:
        """Return True if a frame may be sent. A frame about as large as the window, or larger, is sent once
        nearly everything is read.
        """
        # a frame larger than the window must be sent at some time: when little is unread
        unread = self._unread + size
        return unread <= self._window or self._unread < self._window // _PORTIONS or not self._unread

    def count_sent(self, size: int) -> None:
        """Count a frame that was sent."""
        self._unread += size

    def add_credit(self, size: int) -> None:
        """Count bytes that the other end has read."""
        self._unread -= size


class ReceiveWindow:
    """Bytes read of a stream, for which credit is due."""

    def __init__(self, window: int) -> None:
        self._portion = window // _PORTIONS
        self._uncredited = 0

    def read(self, size: int) -> int:
        """Count a frame that was read. Return the credit to grant now, mostly 0."""
        self._uncredited += size
        if self._uncredited < self._portion:
            return 0
        credit, self._uncredited = self._uncredited, 0
        return credit
