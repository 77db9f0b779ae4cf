"""Slots for calls and event loop lag, of one process or of several that share memory."""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from llmcore.policies.admission import Refusal
from voiceagent.access.caller_counts import NUMBERS, CallerShares, Shares, WrongKeys, digest
from voiceagent.processes.policies.balance import WorkerLoad

_COUNT_BYTES = 8
_COUNTS = 4
"""Counters of each worker: calls; lag of its event loop plus one (microseconds; 0 before the first report);
CPU use (millionths of a core); calls that only transcribe.
"""
_US = 1_000_000
_NAMES = 4
"""Callers' names per worker, as a multiple of `max_calls`: a call has two, and some more while calls end."""


class Slots(Protocol):
    """Slots for calls, and the state that all processes of a server share to decide about the next call."""

    @property
    def max_calls(self) -> int:
        """Number of slots."""

    @property
    def taken(self) -> int:
        """Number of slots in use."""

    def acquire(self) -> bool:
        """Take a slot. Return False if none is free."""

    def release(self) -> None:
        """Release a slot."""

    @property
    def answered(self) -> int:
        """Number of slots taken by calls that the LLM answers."""

    @property
    def shares(self) -> CallerShares:
        """Number of calls of each caller."""

    @property
    def wrong_keys(self) -> WrongKeys:
        """Wrong keys from each address."""

    @property
    def lag_s(self) -> float:
        """Event loop lag of the least late process, in seconds: the one that takes the next call."""

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        """Record the lag of this process's event loop (seconds), its CPU use (cores), and the number of its
        calls that only transcribe.
        """


class LocalSlots:
    """Slots of a server of one process."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.taken = 0
        self.shares = Shares()
        self.wrong_keys = WrongKeys()
        self.lag_s = 0.0
        self._transcribing = 0

    @property
    def answered(self) -> int:
        return max(0, self.taken - self._transcribing)

    def acquire(self) -> bool:
        if self.taken >= self.max_calls:
            return False
        self.taken += 1
        return True

    def release(self) -> None:
        self.taken -= 1

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        self.lag_s = lag_s
        self._transcribing = transcribing


class SharedSlots:
    """Slots of several processes, `max_calls` in all; each worker counts its own calls.

    file: descriptor of a file of `SharedSlots.size(max_calls, workers)` bytes, inherited by every worker.
    """

    def __init__(self, file: int, max_calls: int, workers: int, worker: int) -> None:
        self.max_calls = max_calls
        self._file = file
        self._worker = worker
        numbers = memoryview(mmap.mmap(file, self.size(max_calls, workers))).cast("q")
        counters = [numbers[each * workers : (each + 1) * workers] for each in range(_COUNTS)]
        self._counts, self._lags_us, self._busy_us, self._transcribing = counters
        numbers = numbers[_COUNTS * workers :]
        self.wrong_keys = WrongKeys(numbers[:NUMBERS], self._locked)
        names, kept = numbers[NUMBERS:], _NAMES * max_calls
        self._names = [names[number * kept : (number + 1) * kept] for number in range(workers)]
        self.shares = _SharedShares(names, self._names[worker], self._locked)

    @staticmethod
    def size(max_calls: int, workers: int) -> int:
        """Return the size of the shared file in bytes."""
        return (NUMBERS + workers * (_COUNTS + _NAMES * max_calls)) * _COUNT_BYTES

    @property
    def taken(self) -> int:
        """Number of calls in all workers."""
        return sum(self._counts)

    @property
    def answered(self) -> int:
        return max(0, sum(self._counts) - sum(self._transcribing))

    @property
    def workers(self) -> list[WorkerLoad]:
        """Load of each worker; zero lag and CPU use before its first report."""
        loads = zip(self._counts, self._busy_us, self._lags_us, strict=True)
        return [WorkerLoad(calls, busy / _US, max(0, lag - 1) / _US) for calls, busy, lag in loads]

    def acquire(self) -> bool:
        with self._locked():
            if self.taken >= self.max_calls:
                return False
            self._counts[self._worker] += 1
            return True

    def release(self) -> None:
        """Release a slot. Needs no lock: only the worker itself writes its count while it lives."""
        self._counts[self._worker] -= 1

    @property
    def lag_s(self) -> float:
        """Lag of the least late worker that has reported; 0 before the first report."""
        return (min((lag_us for lag_us in self._lags_us if lag_us), default=1) - 1) / _US

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        self._lags_us[self._worker] = 1 + round(lag_s * _US)
        self._busy_us[self._worker] = round(busy * _US)
        self._transcribing[self._worker] = transcribing

    def clear(self, worker: int) -> None:
        """Reset the counts of a worker that has died; its calls died with it."""
        for numbers in (self._counts, self._lags_us, self._busy_us, self._transcribing):
            numbers[worker] = 0
        names = self._names[worker]
        names[:] = memoryview(bytes(names.nbytes)).cast("q")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock out the other processes. The kernel releases the lock of a process that dies (fcntl(2))."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


RETRY_AFTER_S = 5.0


def lag_refusal(lag_s: float, max_lag_s: float, calls: int) -> Refusal | None:
    """Return why a process with this event loop lag and `calls` running calls refuses a call, None if it does
    not.

    Lag decides, not CPU use: a late loop may have CPU time left, and a prompt one none.
    """
    if not calls or lag_s <= max_lag_s:
        return None
    reason = (
        f"busy: the server is {lag_s * 1000:.0f} ms late (server.max_loop_lag_ms is {max_lag_s * 1000:g})"
    )
    return Refusal(reason, RETRY_AFTER_S)


class _SharedShares:
    """Calls of each caller in all workers. Each worker stores its own callers' names, as 8-byte digests."""

    def __init__(
        self, names: memoryview[int], own: memoryview[int], locked: Callable[[], AbstractContextManager[None]]
    ) -> None:
        self._names, self._own, self._locked = names, own, locked

    def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        digests = {name: digest(name) for name in names}
        with self._locked():
            known = self._names.tolist()
            for name, most in names.items():
                if known.count(digests[name]) >= most:
                    return name
            free = (index for index, one in enumerate(self._own) if not one)
            taken = dict(zip(free, digests.values(), strict=False))
            for index, one in taken.items():
                self._own[index] = one

        def release() -> None:
            for index in taken:
                self._own[index] = 0
            taken.clear()

        return release
