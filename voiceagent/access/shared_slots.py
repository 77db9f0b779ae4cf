"""How many calls there are in all workers together, in memory that they share."""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

_COUNT_BYTES = 8


class SharedPlaces:
    """`Places` for calls, `most` in all; each worker counts its own in its slot.

    file: descriptor of a file of `SharedPlaces.size(workers)` bytes, inherited by all of them.
    """

    def __init__(self, file: int, most: int, workers: int, slot: int) -> None:
        self.most = most
        self._file = file
        self._slot = slot
        self._counts = memoryview(mmap.mmap(file, self.size(workers))).cast("q")

    @staticmethod
    def size(workers: int) -> int:
        """Bytes that so many workers need."""
        return workers * _COUNT_BYTES

    @property
    def taken(self) -> int:
        """Calls in all workers."""
        return sum(self._counts)

    @property
    def each(self) -> list[int]:
        """Calls of each worker."""
        return list(self._counts)

    def take(self) -> bool:
        """Take a place, if one is left."""
        with self._locked():
            if self.taken >= self.most:
                return False
            self._counts[self._slot] += 1
            return True

    def leave(self) -> None:
        """Give one back. Only its worker writes in a slot while it lives, so that this needs no lock."""
        self._counts[self._slot] -= 1

    def clear(self, slot: int) -> None:
        """The worker of that slot has died, and its calls with it."""
        self._counts[slot] = 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process is in here; the lock of one that dies is given back (fcntl(2))."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
