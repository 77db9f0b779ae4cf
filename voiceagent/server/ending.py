"""Shutdown of a process: stop signals and remaining tasks."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any

import structlog
import uvloop

log = structlog.get_logger()

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""Signals that stop a server; SIGHUP is sent when its terminal is closed."""
CLOSE_S = 5.0
"""Time that cancelled tasks have to end."""


def run_until_all_end(work: Coroutine[Any, Any, None]) -> None:
    """Run the coroutine on a new event loop, then cancel the remaining tasks, such as tools of calls that are
    over. Tasks that take longer than `CLOSE_S` are logged and abandoned; asyncio.run would wait for them
    without limit.
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
                log.warning("task_still_running", task=task.get_name())
        loop = asyncio.get_running_loop()
        await loop.shutdown_asyncgens()
        await loop.shutdown_default_executor()


class Stop(asyncio.Event):
    """Set by the first stop signal. ctrl_c: it was SIGINT."""

    ctrl_c = False


def stop_on_signals(starting: Callable[[], bool]) -> Stop:
    """Return an event that the first SIGTERM, SIGINT or SIGHUP sets. A second signal, or one while the server
    is `starting`, cancels the calling task, so that everything ends at once. SIGHUP never counts as the
    second, as the kernel and the shell send one each. It is left alone if it was ignored, as under nohup.
    """
    stopped = Stop()
    serving = asyncio.current_task()

    def stop(number: int) -> None:
        second = stopped.is_set() and number != signal.SIGHUP
        if serving is not None and (second or starting()):
            serving.cancel()
        if not stopped.is_set():
            stopped.ctrl_c = number == signal.SIGINT
        stopped.set()

    for number in STOPPING:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
    return stopped


def log_draining(calls: int, patience_s: float) -> None:
    """Log that the server ends when its calls are over."""
    again = {"next": "a second Ctrl-C or SIGTERM ends them at once"} if calls else {}
    log.info("draining", calls=calls, patience_s=patience_s, **again)


def ignore_stop_signals() -> None:
    """Ignore stop signals as long as the event loop exists: the server is ending already, which takes a few
    seconds at most, and an interruption would leave child processes behind.
    """
    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, lambda: None)
