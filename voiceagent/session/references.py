"""Avoids reference cycles through a call: weak callbacks, and tasks that were cancelled.

A component that held its owner would keep a whole call, with its audio, until the next run of the garbage
collector, which is rare because it stops all calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from types import MethodType
from typing import TypeVarTuple, cast
from weakref import ref

Arguments = TypeVarTuple("Arguments")

CLOSE_S = 2.0
"""Maximum time for cancelled tasks to stop at the end of a call."""


def weak_callback(method: Callable[[*Arguments], None]) -> Callable[[*Arguments], None]:
    """Return a callback that calls a bound method while its object lives, and then does nothing."""
    bound = cast("MethodType", method)
    owner, function = ref(bound.__self__), bound.__func__

    def call(*arguments: *Arguments) -> None:
        alive = owner()
        if alive is not None:
            function(alive, *arguments)

    return call


def outcome(task: asyncio.Task[None]) -> BaseException | None:
    """Return the exception of a finished task, None if it succeeded or was cancelled.

    Without this call, a cancelled task keeps its exception, and so the frames of its traceback.
    """
    try:
        return task.exception()
    except asyncio.CancelledError:
        return None


async def until_stopped(tasks: Collection[asyncio.Task[None]]) -> None:
    """Wait until these cancelled tasks have stopped, at most `CLOSE_S`."""
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_S)
