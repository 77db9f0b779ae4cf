"""The log: structlog and the standard library's, in one format on one stream."""

from __future__ import annotations

import logging
import sys
from typing import Literal, TextIO

import structlog

from voiceagent.validation.section import Section


class LogConfig(Section):
    """`[log]`: how the log is written, to standard error."""

    format: Literal["console", "json"] = "console"
    """"console" for people, "json" for machines, one object a line."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severity that is written."""


def configure_log(
    log_format: Literal["console", "json"], level: str = "info", stream: TextIO | None = None
) -> None:
    """Send the log, that of libraries through `logging` included, to `stream`, standard error by default.

    log_format: "console" for people; "json", one object a line. level: debug, info, warning or error.
    """
    stream = stream or sys.stderr
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last: list[structlog.typing.Processor]
    if log_format == "json":
        # No local variables: they hold keys, and callers' words.
        tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        last = [structlog.processors.ExceptionRenderer(tracebacks), structlog.processors.JSONRenderer()]
    else:
        # Plain: drawing a boxed one holds the event loop for up to a second.
        plain = structlog.dev.plain_traceback
        last = [structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=plain)]
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        foreign_pre_chain=shared,
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("aioice").setLevel(max(logging.WARNING, root.level))  # it tells every check of a line
