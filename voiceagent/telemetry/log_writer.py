"""The lines of the log on their way out: a stream that takes nothing does not stop calls."""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
from contextlib import suppress

MAX_WAITING = 2_000
"""Lines that wait for the stream; more are dropped."""
AT_ONCE = 100
"""Lines that are written together."""
FLUSH_S = 1.0
"""How long the end of the process waits for those that are left."""


class LogWriter(logging.Handler):
    """Writes lines to a file descriptor from a thread of its own: a pipe that nobody reads, or a disk that
    hangs, would else hold the event loop, and all calls.

    What is dropped is counted in `dropped`, and told in `lines_dropped` of the next line that finds room.
    """

    def __init__(self, descriptor: int) -> None:
        super().__init__()
        self.dropped = 0
        self._untold = 0
        # A descriptor, not a stream: one that waits inside a stream's lock at the end aborts the interpreter.
        self._descriptor = descriptor
        self._waiting: queue.Queue[bytes] = queue.Queue(MAX_WAITING)
        self._thread = threading.Thread(target=self._write_all, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Have a line written, if there is room for it."""
        told = 0
        if self._untold and isinstance(record.msg, dict):  # a library's line has no field for it
            told = record.msg["lines_dropped"] = self._untold
        try:
            line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
        except Exception:  # as the standard library's own: a line that cannot be made ends nothing
            self.handleError(record)
            return
        if not self._thread.is_alive():  # this process was forked off the one that has the thread
            self._write(line)
            return
        try:
            self._waiting.put_nowait(line)
            self._untold -= told
        except queue.Full:
            self.dropped += 1
            self._untold += 1

    def flush(self) -> None:
        """Wait until all is written, `FLUSH_S` at most."""
        done = self._waiting.all_tasks_done
        with done:
            done.wait_for(lambda: not self._waiting.unfinished_tasks, FLUSH_S)

    def _write_all(self) -> None:
        while True:
            lines = [self._waiting.get()]
            with suppress(queue.Empty):
                while len(lines) < AT_ONCE:
                    lines.append(self._waiting.get_nowait())
            self._write(b"".join(lines))
            for _ in lines:
                self._waiting.task_done()

    def _write(self, data: bytes) -> None:
        """Write all of it; what the disk has no room for is lost."""
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except BlockingIOError:  # another program has set it so
                select.select([], [self._descriptor], [])
            except OSError:
                return
