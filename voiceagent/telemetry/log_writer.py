"""Non-blocking writing of log lines, so that a stalled stream does not stop calls."""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
from contextlib import suppress

MAX_WAITING = 2_000
"""Lines queued for the stream; more are dropped."""
MAX_BATCH = 100
"""Maximum lines in one write."""
FLUSH_S = 1.0
"""Time given to queued lines when the process ends."""


class LogWriter(logging.Handler):
    """Logging handler that writes to a file descriptor from a thread of its own. A pipe without a reader, or
    a disk that hangs, would otherwise block the event loop and all calls.

    Dropped lines are counted in `dropped`, and in `lines_dropped` of the next line that is queued.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.dropped = 0
        self._unreported = 0
        # A descriptor, not a stream: a thread blocked inside a stream's lock at exit aborts the interpreter.
        self._descriptor = descriptor
        self._waiting: queue.Queue[bytes] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue a line; drop and count it if the queue is full."""
        reported = 0
        if self._unreported and isinstance(record.msg, dict):  # a library's line has no field for it
            reported = record.msg["lines_dropped"] = self._unreported
        try:
            line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        except Exception:  # like the standard library's handlers: a formatting error must not end the caller
            self.handleError(record)
            return
        if not self._thread.is_alive():  # after a fork: the thread exists only in the parent
            self._write(line)
            return
        try:
            self._waiting.put_nowait(line)
            self._unreported -= reported
        except queue.Full:
            self.dropped += 1
            self._unreported += 1

    def flush(self) -> None:
        """Wait until all lines are written, `FLUSH_S` at most."""
        done = self._waiting.all_tasks_done
        with done:
            done.wait_for(lambda: not self._waiting.unfinished_tasks, FLUSH_S)

    def _write_all(self) -> None:
        while True:
            lines = [self._waiting.get()]
            with suppress(queue.Empty):
                while len(lines) < MAX_BATCH:
                    lines.append(self._waiting.get_nowait())
            self._write(b"".join(lines))
            for _ in lines:
                self._waiting.task_done()

    def _write(self, data: bytes) -> None:
        """Write all bytes; those that the disk has no room for are lost."""
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program made the descriptor non-blocking
                select.select([], [self._descriptor], [])
            except OSError:
                return
