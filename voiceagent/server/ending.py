"""How a process ends: the signals that stop a server, and what still runs then."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
import uvloop

log = structlog.get_logger()

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop a server; the last one says that its terminal was closed."""
CLOSE_S = 5.0
"""How long tasks may take to end once they are cancelled."""


def run_until_all_end(work: Coroutine[Any, Any, None]) -> None:
    """Do the work of a process on an event loop of its own, then cancel what runs beside it, such as tools of
    calls that are over. What takes longer than `CLOSE_S` is told and left; asyncio.run would wait for it
    without end.
    """
    loop = uvloop.new_event_loop()
    try:
        loop.run_until_complete(_until_all_end(work))
    finally:
        loop.close()


async def _until_all_end(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    finally:
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            _, hanging = await asyncio.wait(left, timeout=CLOSE_S)
            for task in hanging:
                log.warning("task_does_not_end", task=task.get_name())
        loop = asyncio.get_running_loop()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()


def stop_on_signals(starting: Callable[[], bool]) -> asyncio.Event:
    """Set by the first SIGTERM, SIGINT or SIGHUP. A second one, or one while the server is `starting`,
    cancels the task that asked for this: everything ends at once. SIGHUP never counts as the second, as the
    kernel and the shell send one each; it does nothing where it was ignored, as under nohup.
    """
    stopped = asyncio.Event()
    serving = asyncio.current_task()

    def stop(number: int) -> None:
        second = stopped.is_set() and number != signal.SIGHUP
        if serving is not None and (second or starting()):
            serving.cancel()
        stopped.set()

    for number in STOPPING:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return stopped


def heed_no_signals() -> None:
    """From now on signals that stop a server do nothing, as long as its event loop is there: it is ending
    already, which takes a few seconds at most, and what is cut off then would be left behind.
    """
    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
