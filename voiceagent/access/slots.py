"""Room for calls: of one process alone, or of several workers in memory that they share."""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

_COUNT_BYTES = 8


class Slots(Protocol):
    """Slots for calls, `max_calls` of them."""

    @property
    def max_calls(self) -> int:
        """How many there are."""

    @property
    def taken(self) -> int:
        """How many are taken."""

    def take(self) -> bool:
        """Take one, if one is left."""

    def release(self) -> None:
        """Give one back."""


class LocalSlots:
    """Those of a process that takes calls alone, `max_calls` of them."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.taken = 0

    def take(self) -> bool:
        """Take one, if one is left."""
        if self.taken >= self.max_calls:
            return False
        self.taken += 1
        return True

    def release(self) -> None:
        """Give one back."""
        self.taken -= 1


class SharedSlots:
    """Those of several processes, `max_calls` in all; each worker counts its own.

    file: descriptor of a file of `SharedSlots.size(workers)` bytes, inherited by all of them.
    """

    def __init__(self, file: int, max_calls: int, workers: int, worker: int) -> None:
        self.max_calls = max_calls
        self._file = file
        self._worker = worker
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
        """Take a slot, if one is left."""
        with self._locked():
            if self.taken >= self.max_calls:
                return False
            self._counts[self._worker] += 1
            return True

    def release(self) -> None:
        """Give one back. Only its worker writes its count while it lives, so that this needs no lock."""
        self._counts[self._worker] -= 1

    def clear(self, worker: int) -> None:
        """That worker has died, and its calls with it."""
        self._counts[worker] = 0

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process is in here; the lock of one that dies is given back (fcntl(2))."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)
