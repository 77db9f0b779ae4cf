"""Puts the caller's sound in order: what is early waits a little, what is late or double is dropped. Pure."""

from __future__ import annotations

DEPTH = 5
"""Messages that wait for a missing one: 100 ms. Over TCP nothing is lost, so it is nearly always filled."""


class ReorderBuffer:
    """The order of one stream, whose messages are numbered from 1. dropped: doubles, and those too late."""

    def __init__(self) -> None:
        self._next = 1
        self._waiting: dict[int, bytes] = {}
        self.dropped = 0

    def push(self, number: int, payload: bytes) -> list[bytes]:
        """Take a message; returns those whose turn has come."""
        if number < self._next or number in self._waiting:
            self.dropped += 1
            return []
        if number == self._next and not self._waiting:
            self._next += 1
            return [payload]
        self._waiting[number] = payload
        if len(self._waiting) > DEPTH:
            self._next = max(self._next, min(self._waiting))  # what is missing is given up
        ready = []
        while self._next in self._waiting:
            ready.append(self._waiting.pop(self._next))
            self._next += 1
        return ready
