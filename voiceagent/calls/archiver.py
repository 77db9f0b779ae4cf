"""Archiving and deletion of kept calls in one thread, which waits for database and storage.

The logs are the source of truth: updates that the database missed are made later, at the next start at the
latest.
"""

from __future__ import annotations

import math
import os
import shutil
import threading
import time
from collections import deque
from dataclasses import dataclass
from pathlib import Path

import structlog

from voiceagent.calls.files import lock_existing
from voiceagent.calls.kept_call import LOG_NAME, Losses, compress
from voiceagent.calls.log.entries import Header
from voiceagent.calls.log.event_log import LogError
from voiceagent.calls.places import PlaceError, move_away, read_log_at, remove_at, size_at
from voiceagent.calls.retention import ClockStepDetector, Retention, expired
from voiceagent.calls.rows import CallRow
from voiceagent.calls.store import CallStore, StoreError
from voiceagent.calls.summary import CallSummary, summarise

RETRY_S = (1.0, 30.0)
"""First and longest wait after database or storage failed."""
DELETE_INTERVAL_S = 3600.0
"""Interval of the search for expired calls."""
MAX_JOBS = 10_000
"""Maximum queued updates; the next start finds the calls of dropped ones."""
WRITTEN_S = 60.0
"""Age from which a running call without files counts as broken: its process died, or its folder is gone."""
HANGS_S = 30.0
"""Time for one update after which database or storage counts as hanging, as when the network is gone."""
LINES_PER_YIELD = 20
END_S = 10.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Began:
    header: Header
    place: str


@dataclass(frozen=True, slots=True)
class _Ended:
    folder: Path


@dataclass(frozen=True, slots=True)
class _Moved:
    """The files of a call have reached their final place, and the database must be updated."""

    summary: CallSummary
    place: str


_Job = _Began | _Ended | _Moved


class CallArchiver:
    """Archives the calls of a folder in a store. storage: URL to move files to; "" leaves them there."""

    def __init__(
        self, store: CallStore, folder: Path, storage: str, retention: Retention, losses: Losses
    ) -> None:
        self._store = store
        self._folder = folder
        self._storage = storage
        self._retention = retention
        self._losses = losses
        self._jobs: deque[_Job] = deque(maxlen=MAX_JOBS)
        self._failure = ""
        self._working_from_s = math.inf
        self._prepared = False
        self._delete_at_s = -math.inf
        self._clock = ClockStepDetector()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="calls on record", daemon=True)

    def start(self) -> None:
        """Start working. Calls of dead processes are found first."""
        self._thread.start()

    def began(self, header: Header, folder: Path) -> None:
        """Add a running call to the store."""
        self._add(_Began(header, str(folder)))

    def ended(self, folder: Path) -> None:
        """Archive a call whose files are complete."""
        self._add(_Ended(folder))

    @property
    def problem(self) -> str:
        """Error of the last attempt, or hang of database or storage; "" if they work."""
        waited_s = time.monotonic() - self._working_from_s
        if waited_s > HANGS_S:
            return f"database or storage has not answered for {waited_s:.0f} s; {len(self._jobs) + 1} wait"
        return self._failure

    def close(self) -> None:
        """Do the queued work, and stop."""
        self._ending.set()
        self._wake.set()
        self._thread.join(END_S)
        self._store.close()

    def _add(self, job: _Job) -> None:
        self._jobs.append(job)
        self._wake.set()

    def _run(self) -> None:
        wait_s = RETRY_S[0]
        while True:
            self._wake.clear()
            ending = self._ending.is_set()
            try:
                self._work()
            except (StoreError, PlaceError, OSError) as error:
                self._working_from_s = math.inf
                self._losses.failed(error)
                self._failure = str(error)
                self._ending.wait(wait_s)
                wait_s = min(2 * wait_s, RETRY_S[1])
                self._wake.set()  # retry
            else:
                wait_s, self._failure = RETRY_S[0], ""
            if ending:
                return
            self._wake.wait(DELETE_INTERVAL_S)

    def _work(self) -> None:
        if not self._prepared or self._store.file_gone():
            self._folder.mkdir(parents=True, exist_ok=True)
            self._store.upgrade()
            self._find_unarchived()
            self._prepared = True
        while self._jobs:
            job = self._jobs.popleft()
            self._working_from_s = time.monotonic()
            try:
                self._do(job)
            except (StoreError, PlaceError, OSError):
                self._jobs.appendleft(job)
                raise
            except Exception as error:  # a bug must not prevent the archiving of other calls
                log.error("call_not_registered", exc_info=error)
                self._losses.failed(error)
        self._working_from_s = math.inf
        if time.monotonic() >= self._delete_at_s:
            now = time.time()  # read once, as the clock may be set meanwhile
            if self._clock.set_forward(now, time.monotonic()):
                log.warning("clock_set_forward", calls_deleted="in an hour, unless the clock is set back")
            else:
                self._delete_expired(now)
            self._delete_at_s = time.monotonic() + DELETE_INTERVAL_S

    def _do(self, job: _Job) -> None:
        match job:
            case _Began(header, place):
                self._store.began(header.call_id, header.started_at, place)
            case _Ended(folder) if folder.exists():  # otherwise it was archived before, or deleted
                self._move(folder)
            case _Moved(summary, place):
                state = "broken" if summary.lost else "ended"
                self._store.ended(summary, state, place, size_at(place))

    def _move(self, folder: Path) -> None:
        place = str(folder)
        try:
            summary = summarise(read_log_at(place), place, GilYield())
        except LogError as error:
            log.error("call_log_unreadable", place=place, error=str(error))
            return
        if self._storage:
            place = move_away(folder, self._storage)
        self._jobs.appendleft(_Moved(summary, place))

    def _find_unarchived(self) -> None:
        """Archive calls of dead processes, and those that the database missed."""
        known = self._store.newest()
        over = {call.call_id for call in known if call.state != "running"}
        for folder in sorted(path for path in self._folder.glob("*-*-*/*") if path.is_dir()):
            if (folder / LOG_NAME).exists():
                if self._finished_for(folder / LOG_NAME):
                    self._jobs.append(_Ended(folder))
            elif folder.name not in over:
                self._jobs.append(_Ended(folder))
        for call in known:
            if call.state == "running" and self._left_nothing(call):
                nothing = CallSummary(call.call_id, call.started_at, 0.0, None, 0, 0, (), (), lost=True)
                self._store.ended(nothing, "broken", call.place, 0)

    def _left_nothing(self, call: CallRow) -> bool:
        place = Path(call.place)
        written = time.time() - call.started_at > WRITTEN_S
        return written and place.is_relative_to(self._folder) and not place.exists()

    def _finished_for(self, log_file: Path) -> bool:
        """Compress a log whose process is gone. Return False if it is still written, or was compressed."""
        try:
            # A log is created, then locked, then its first line is written: a new log can look lost for a
            # moment.
            if log_file.stat().st_size == 0:
                return False
            lock = lock_existing(log_file)
        except (BlockingIOError, FileNotFoundError):
            return False
        compress(log_file, self._losses.failed)
        os.close(lock)
        return True

    def _delete_expired(self, now: float) -> None:
        # other servers of the same database have folders of their own
        here = (str(self._folder), self._storage or str(self._folder))
        calls = [call for call in self._store.newest() if call.place.startswith(here)]
        for call in expired(calls, self._retention, now):
            delete_call(self._store, call.call_id, call.place)
            log.info("kept_call_deleted", call=call.call_id)
        for day in self._folder.glob("*-*-*"):
            if not any(day.iterdir()):
                shutil.rmtree(day, ignore_errors=True)


class GilYield:
    """Releases the GIL every few lines of a log: 0.2 ms per 20 lines, enough for the event loop."""

    def __init__(self) -> None:
        self._lines = 0

    def __call__(self) -> None:
        """Count a line that was read."""
        self._lines += 1
        if self._lines % LINES_PER_YIELD == 0:
            time.sleep(0.0002)


def delete_call(store: CallStore, call_id: str, place: str) -> None:
    """Delete a call, its files first, so that a failure leaves it in the store.

    Raises StoreError, PlaceError.
    """
    remove_at(place)
    store.delete(call_id)
