"""The parent of a process, as a child with an event loop sees it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from typing import Any

from voiceagent.processes.messages import LifeMessage, Ping, Pong, RpcError, Start
from voiceagent.processes.rpc import RpcConnection
from voiceagent.processes.streams import Service


async def join_parent(
    descriptor: int, services: Mapping[str, Service], full: Callable[[], bool] = lambda: False
) -> tuple[RpcConnection, Any]:
    """The connection to the parent, and the task that this gave.

    The child never closes the connection: to the parent its end is that of the process. full: whether this
    process can take nothing more now. Raises RpcError where the parent has gone.
    """
    task: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def note(message: LifeMessage) -> None:
        if isinstance(message, Start):
            task.set_result(message.task)
        elif isinstance(message, Ping):
            parent.notify(Pong(full()))

    def lost() -> str:
        reason = "the parent process is gone"
        if not task.done():
            task.set_exception(RpcError(reason))
        return reason

    connection = socket.socket(fileno=descriptor)
    parent = RpcConnection(connection, services, opens_even=False, on_life=note, on_lost=lost)
    parent.attach()
    return parent, await task
