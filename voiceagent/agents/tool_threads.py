"""Plain functions as tools, each in a thread of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from threading import Thread
from typing import Any

from voiceagent.session.agent import ToolFailed

MAX_THREADS = 256
"""Maximum plain tools that run at once in a process, including cancelled ones that have not ended."""

_running: set[Thread] = set()


def threads_run() -> bool:
    """Return True while a plain (not async) function runs in a thread."""
    return bool(_running)


async def in_a_thread(function: Callable[..., Any], /, **arguments: Any) -> Any:
    """Run a plain function in its own thread.

    One that hangs, as an HTTP client without a timeout does, blocks no other tool, and does not keep the
    server from ending.

    Returns:
        Its result.

    Raises:
        ToolFailed: Too many tools are running.
    """
    if len(_running) >= MAX_THREADS:
        raise ToolFailed(f"not done: {MAX_THREADS} tools are running")
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()
    context = copy_context()

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(function, **arguments)
        except BaseException as error:  # user code; the awaiting task decides
            failure = error
        try:
            loop.call_soon_threadsafe(end, result, failure)
        except RuntimeError:  # the event loop has ended
            _running.discard(thread)

    def end(result: Any, failure: BaseException | None) -> None:
        _running.discard(thread)
        if done.done():  # it was cancelled
            return
        if isinstance(failure, StopIteration):  # futures do not accept it
            failure = RuntimeError("it raised StopIteration")
        if failure is None:
            done.set_result(result)
        else:
            done.set_exception(failure)

    thread = Thread(target=run, name=f"tool {getattr(function, '__name__', '')}", daemon=True)
    thread.start()  # fails if the system has no more threads
    _running.add(thread)
    return await done
