"""Logging: structlog and the standard library's log, in one format on one stream."""

from __future__ import annotations

import io
import logging
import os
import queue
import re
import select
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TextIO

import structlog

from voiceagent.telemetry.call_ids import add_call_ids
from voiceagent.telemetry.terminal import LINE, drop_figures, plain_lines
from voiceagent.validation.section import Section


class LogConfig(Section):
    """`[log]`: the log on standard error."""

    format: Literal["console", "json"] = "console"
    """"console" for people, "json" for machines, one object per line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged."""
    personal_data: bool = False
    """Log transcripts, phone numbers and other personal data. Otherwise they are left out, except that a
    terminal shows the conversations of a server that only this machine can reach.
    """


class Personal(str):
    """A personal field of a log line, such as a transcript. Its value is written only if `log.personal_data`
    is set.

    In an application that mounts the server but keeps its own logging configuration, the field prints
    `LEFT_OUT`.
    """

    LEFT_OUT = "left out: personal"
    value: object

    def __new__(cls, value: object) -> Personal:
        field = super().__new__(cls, cls.LEFT_OUT)
        field.value = value
        return field


MAX_CHARACTERS = 2_000
"""Longest field. Longer ones are truncated, as an id or a name may come from a caller and be as long as a
message.
"""
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Escape control characters except newlines and tabs, so that a text cannot move a terminal's cursor."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _sanitize(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Truncate long fields and escape newlines, so that callers' text cannot forge log lines."""
    if event.get("event") == LINE:
        event["text"] = printable(str(event["text"])).replace("\n", " ")
    for name, value in event.items():
        if isinstance(value, str) and name != "event" and len(value) > MAX_CHARACTERS:
            event[name] = f"{value[:MAX_CHARACTERS]}... ({len(value)} characters)"
    event["event"] = printable(str(event["event"]).rstrip()).replace("\n", "\n    ")
    return event


SHARED_PROCESSORS: tuple[structlog.typing.Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    add_call_ids,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    _sanitize,
)
"""Processors of every line, including libraries' lines: call context, level, logger, time."""


def _without_personal(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: value for name, value in event.items() if not isinstance(value, Personal)}


def _with_personal(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: value.value if isinstance(value, Personal) else value for name, value in event.items()}


class RepeatFilter(logging.Filter):
    """Rate limit per kind of line: `BURST` lines pass, then `PER_S` a second, so that clients cannot fill the
    disk through the log. The next line that passes has the number of suppressed ones in `left_out`.
    """

    BURST, PER_S = 200, 10

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, tuple[float, float, int]] = {}  # time, lines that may pass, lines left out

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if the line is to be written."""
        said = record.msg.get("event") if isinstance(record.msg, dict) else record.msg
        kind, now_s = f"{record.name} {said}"[:200], self._clock()
        at_s, left, left_out = self._kinds.get(kind, (now_s, float(self.BURST), 0))
        left = min(self.BURST, left + (now_s - at_s) * self.PER_S)
        passes = left >= 1
        if passes and left_out and isinstance(record.msg, dict):
            record.msg["left_out"] = left_out
        self._kinds[kind] = (now_s, left - passes, 0 if passes else left_out + 1)
        if len(self._kinds) > 1_000:
            self._kinds.clear()
        return passes


def configure_log(
    log_format: Literal["console", "json"],
    level: str = "info",
    stream: TextIO | None = None,
    personal: bool = False,
    apart: bool = False,
    conversation: bool = False,
) -> None:
    """Send the log, that of libraries through `logging` included, to `stream`, standard error by default.

    log_format: "console" for people; "json", one object a line. level: debug, info, warning or error. apart:
    write from a thread, for processes that have calls; the stream must then be a file's. conversation: the
    lines of `telemetry.terminal` replace the figures that they show, unless the level is debug.
    """
    stream = stream or sys.stderr
    figures = (drop_figures,) if conversation and level != "debug" else ()
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *figures,
            _with_personal if personal else _without_personal,
            *SHARED_PROCESSORS,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    descriptor = _descriptor_of(stream) if apart else None
    handler = logging.StreamHandler(stream) if descriptor is None else LogWriter(descriptor)
    handler.setFormatter(_formatter(log_format, stream))
    handler.addFilter(RepeatFilter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # They log every connectivity check, every plugin, and every URL with its secrets.
    for library in ("aioice", "alembic", "httpx", "httpx2"):
        logging.getLogger(library).setLevel(max(logging.WARNING, root.level))


def _formatter(log_format: Literal["console", "json"], stream: TextIO) -> logging.Formatter:
    last: list[structlog.typing.Processor]
    if log_format == "json":
        # No local variables: they hold keys and transcripts.
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer()]
    else:
        # Plain, as drawing a boxed traceback holds the event loop for up to a second.
        plain = structlog.dev.plain_traceback
        render = structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)
        last = [plain_lines(render)]
    return structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        foreign_pre_chain=SHARED_PROCESSORS,
    )


def _descriptor_of(stream: TextIO) -> int | None:
    """Return the file descriptor, or None for a stream in memory, which never blocks."""
    try:
        return stream.fileno()
    except io.UnsupportedOperation:
        return None


def lines_dropped() -> int:
    """Return the number of this process's log lines dropped because the stream was too slow."""
    return sum(handler.dropped for handler in logging.getLogger().handlers if isinstance(handler, LogWriter))


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
