"""Room for calls, and how late those are who take them: one process, or several that share memory."""

from __future__ import annotations

import fcntl
import mmap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from llmcore.policies.admission import Refusal
from voiceagent.access.shares import CallerShares, Shares, digest
from voiceagent.access.wrong_keys import NUMBERS, WrongKeys
from voiceagent.processes.policies.balance import WorkerLoad

_COUNT_BYTES = 8
_COUNTS = 4
"""Counters of each worker: calls; lag of its event loop plus one (microseconds; 0 before the first report);
CPU use (millionths of a core); calls that only transcribe.
"""
_US = 1_000_000
_NAMES = 4
"""Names of callers that a worker keeps, in parts of `max_calls`: a call has two, and some while it ends."""


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

    @property
    def answered(self) -> int:
        """Number of slots taken by calls that the LLM answers."""

    @property
    def shares(self) -> CallerShares:
        """How many of the calls each caller has."""

    @property
    def wrong_keys(self) -> WrongKeys:
        """The wrong keys that came from each address."""

    @property
    def lag_s(self) -> float:
        """How late the event loops are that serve the calls: the least late of them, which takes the next."""

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        """Record the lag of this process's event loop (seconds), its CPU use (cores), and the number of its
        calls that only transcribe.
        """


class LocalSlots:
    """The slots of a process that takes calls alone, `max_calls` of them."""

    def __init__(self, max_calls: int) -> None:
        self.max_calls = max_calls
        self.taken = 0
        self.shares = Shares()
        self.wrong_keys = WrongKeys()
        self.lag_s = 0.0
        self._transcribing = 0

    @property
    def answered(self) -> int:
        """See `Slots`."""
        return max(0, self.taken - self._transcribing)

    def take(self) -> bool:
        """Take one, if one is left."""
        if self.taken >= self.max_calls:
            return False
        self.taken += 1
        return True

    def release(self) -> None:
        """Give one back."""
        self.taken -= 1

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        """See `Slots`."""
        self.lag_s = lag_s
        self._transcribing = transcribing


class SharedSlots:
    """The slots of several processes, `max_calls` in all; each worker counts its own.

    file: descriptor of a file of `SharedSlots.size(max_calls, workers)` bytes, inherited by all of them.
    """

    def __init__(self, file: int, max_calls: int, workers: int, worker: int) -> None:
        self.max_calls = max_calls
        self._file = file
        self._worker = worker
        numbers = memoryview(mmap.mmap(file, self.size(max_calls, workers))).cast("q")
        told = [numbers[each * workers : (each + 1) * workers] for each in range(_COUNTS)]
        self._counts, self._lags_us, self._busy_us, self._transcribing = told
        numbers = numbers[_COUNTS * workers :]
        self.wrong_keys = WrongKeys(numbers[:NUMBERS], self._locked)
        names, kept = numbers[NUMBERS:], _NAMES * max_calls
        self._names = [names[number * kept : (number + 1) * kept] for number in range(workers)]
        self.shares = _SharedShares(names, self._names[worker], self._locked)

    @staticmethod
    def size(max_calls: int, workers: int) -> int:
        """Bytes that so many workers need."""
        return (NUMBERS + workers * (_COUNTS + _NAMES * max_calls)) * _COUNT_BYTES

    @property
    def taken(self) -> int:
        """Calls in all workers."""
        return sum(self._counts)

    @property
    def answered(self) -> int:
        """See `Slots`."""
        return max(0, sum(self._counts) - sum(self._transcribing))

    @property
    def workers(self) -> list[WorkerLoad]:
        """What each worker has to do; one that has not told is in time, and has nothing to do."""
        told = zip(self._counts, self._busy_us, self._lags_us, strict=True)
        return [WorkerLoad(calls, busy / _US, max(0, lag - 1) / _US) for calls, busy, lag in told]

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

    @property
    def lag_s(self) -> float:
        """How late the least late worker is of those that have told; 0 while none has."""
        return (min((lag_us for lag_us in self._lags_us if lag_us), default=1) - 1) / _US

    def report(self, lag_s: float, busy: float, transcribing: int) -> None:
        """See `Slots`."""
        self._lags_us[self._worker] = 1 + round(lag_s * _US)
        self._busy_us[self._worker] = round(busy * _US)
        self._transcribing[self._worker] = transcribing

    def clear(self, worker: int) -> None:
        """A worker has died, and its calls with it: they take no slots any more."""
        for numbers in (self._counts, self._lags_us, self._busy_us, self._transcribing):
            numbers[worker] = 0
        names = self._names[worker]
        names[:] = memoryview(bytes(names.nbytes)).cast("q")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """No other process is in here; the lock of one that dies is given back (fcntl(2))."""
        fcntl.lockf(self._file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN)


RETRY_AFTER_S = 5.0


def lag_refusal(lag_s: float, max_lag_s: float, calls: int) -> Refusal | None:
    """Why a process whose loop is so late takes no call beside `calls` others, if it takes none.

    By the lateness of its event loop, not by its CPU, of which a late one may have some left and a calm one
    none.
    """
    if not calls or lag_s <= max_lag_s:
        return None
    reason = (
        f"busy: the server is {lag_s * 1000:.0f} ms late (server.max_loop_lag_ms is {max_lag_s * 1000:g})"
    )
    return Refusal(reason, RETRY_AFTER_S)


class _SharedShares:
    """How many calls each caller has in all workers: each keeps the names of its own callers, as digests of
    eight bytes.
    """

    def __init__(
        self,
        names: memoryview[int],
        own: memoryview[int],
        locked: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._names, self._own, self._locked = names, own, locked

    def take(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        """As `Shares.take`."""
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
