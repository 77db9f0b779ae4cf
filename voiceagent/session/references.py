"""Keeps parts of a call from holding all of it: callbacks to their owner, and tasks that were cancelled.

A part that held its owner would keep a whole call, with its sound, until the garbage collector next runs. It
runs rarely, as it stops all calls while it does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from types import MethodType
from typing import TypeVarTuple, cast
from weakref import ref

Arguments = TypeVarTuple("Arguments")

CLOSE_S = 2.0
"""How long what was cancelled may take to stop as a call ends."""


def weak_callback(method: Callable[[*Arguments], None]) -> Callable[[*Arguments], None]:
    """Calls a bound method for as long as its object lives; after that it does nothing."""
    bound = cast("MethodType", method)
    owner, function = ref(bound.__self__), bound.__func__

    def call(*arguments: *Arguments) -> None:
        alive = owner()
        if alive is not None:
            function(alive, *arguments)

    return call


def outcome(task: asyncio.Task[None]) -> BaseException | None:
    """What a task that is over raised, if it did; the cancellation of one that was cancelled is forgotten.

    Until somebody asks, such a task keeps the exception, and so the frames that it went through.
    """
    try:
        return task.exception()
    except asyncio.CancelledError:
        return None


async def until_stopped(tasks: Collection[asyncio.Task[None]]) -> None:
    """Wait until these cancelled tasks have stopped; one that does not must not hold the call."""
    if tasks:
        await asyncio.wait(tasks, timeout=CLOSE_S)
