"""A connection that another one may replace: its call waits while there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Generic, TypeVar

import structlog

from voiceagent.transports.connection import Disconnected, Wire

log = structlog.get_logger()

Result = TypeVar("Result")
Sent = TypeVar("Sent", bound=str | bytes)


class ReplaceableWire(Generic[Sent]):
    """A `Wire` whose connection may be replaced. wait_s: how long it waits for another one, None for as long
    as its call does. on_lost, on_resumed: called when it begins to wait, and when it goes on. Subclasses
    define `send`, and a method that calls `_use` with a new connection.
    """

    paces = True

    def __init__(
        self,
        wire: Wire[Sent],
        wait_s: float | None,
        on_lost: Callable[[], None],
        on_resumed: Callable[[], None],
    ) -> None:
        self._wire = wire
        self._wait_s = wait_s
        self._on_lost = on_lost
        self._on_resumed = on_resumed
        self._connected = asyncio.Event()
        self._connected.set()
        self._left = asyncio.Event()  # set once `_wire` is no longer used
        self._take: Callable[[str | bytes], None] | None = None
        self._send_fast: Callable[[Sent], bool] | None = None

    async def open(self) -> None:
        await self._wire.open()

    async def receive(self) -> str | bytes:
        """Return the next message. Wait for another connection if this one is lost."""
        while True:
            await self._until_connected()
            left = self._left
            try:
                received = await _unless(left, self._wire.receive())
                if received is not None:
                    return received
            except Disconnected as gone:
                if left.is_set():
                    continue
                left.set()
                if gone.end_code != "connection_lost":
                    raise
                self._lose(str(gone))

    def open_fast_path(self, take: Callable[[str | bytes], None]) -> Callable[[Sent], bool] | None:
        self._take = take
        self._send_fast = self._wire.open_fast_path(take)
        return self._send_now

    def close_fast_path(self) -> None:
        self._take = None
        self._wire.close_fast_path()

    async def close(self, code: int, reason: str) -> None:
        await self._wire.close(code, reason)

    def release(self) -> None:
        """End the use of the connection: the call is over."""
        self._left.set()

    async def _use(self, wire: Wire[Sent], begin: Callable[[], Awaitable[Callable[[], None]]]) -> None:
        """Use this connection from now on, and return when it is no longer used. begin: opens it, does what
        must precede the call's own messages, and returns what to call once these can be sent; raises
        Disconnected.
        """
        former = self._wire
        left = self._replace(wire)
        try:
            resumed = await begin()
        except Disconnected as gone:
            if not left.is_set():
                left.set()
                self._log_loss(str(gone))
            return
        if left.is_set():  # by a newer connection
            return
        if self._take is not None:
            self._send_fast = wire.open_fast_path(self._take)
        self._connected.set()
        resumed()
        self._on_resumed()
        closing = asyncio.create_task(_close(former), name="close the former connection")
        try:
            await left.wait()
        finally:
            closing.cancel()

    async def _send_on_wire(self, message: Sent) -> None:
        """Send a message on the connection in use; drop it if that is lost."""
        # `receive` decides whether the connection is lost, or the client has hung up
        with suppress(Disconnected):
            await _unless(self._left, self._wire.send(message))

    def _send_now(self, message: Sent) -> bool:
        return self._send_fast is not None and self._send_fast(message)

    async def _until_connected(self) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                await self._connected.wait()
        except TimeoutError:
            waited = f"the connection was lost, and the client did not come back in {self._wait_s:g} s"
            raise Disconnected(waited, "connection_lost") from None

    def _replace(self, wire: Wire[Sent]) -> asyncio.Event:
        """Stop using the connection in use, and use this one. Return the event that it is left."""
        before = self._wire
        if not self._left.is_set():
            self._left.set()
            self._lose("the client connected again")
        before.close_fast_path()
        self._wire, self._left = wire, asyncio.Event()
        return self._left

    def _lose(self, reason: str) -> None:
        self._connected.clear()
        self._send_fast = None
        self._log_loss(reason)
        self._on_lost()

    def _log_loss(self, reason: str) -> None:
        log.info("connection_lost", reason=reason, wait_s=self._wait_s)


async def _close(wire: Wire[Any]) -> None:
    with suppress(Disconnected):
        await wire.close(1000, "the call was resumed on another connection")


async def _unless(left: asyncio.Event, work: Coroutine[Any, Any, Result]) -> Result | None:
    """Return the result of this work; None if its connection was left before, which may never end it."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(left.wait())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
