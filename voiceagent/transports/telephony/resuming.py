"""Phone calls that go on after their connection was lost: the provider opens another stream for them.

A stream whose URL names its call (`/telephony/<provider>/calls/<id>`) continues the call that was opened with
the same name, in whichever process of this server it is. Only providers with a key can do that, so that no
stranger takes a call over. Audio that had not been played is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from typing import Any, Protocol

import structlog

from voiceagent.processes.messages import RpcError
from voiceagent.session.call import Call
from voiceagent.transports.connection import Disconnected, Wire
from voiceagent.transports.relay import Accepted, FromClient, client_messages, send_values, serve_relayed
from voiceagent.transports.replaceable_wire import ReplaceableWire
from voiceagent.transports.telephony.stream.serializer import (
    START_S,
    Message,
    ProtocolError,
    Serializer,
    Started,
)
from voiceagent.transports.websocket import WebSocketWire

log = structlog.get_logger()

Elsewhere = Callable[[str, AsyncIterator[FromClient]], AsyncGenerator[Any, None]]
"""Carries a stream to the call of this name in another process, as `PhoneStreams.serve_stream` does; empty if
none has it.
"""


async def nowhere(name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
    """Return an empty stream: no other process has calls."""
    return
    yield


class Continuable(Protocol):
    """A call that another stream can continue."""

    def check_stream(self, started: Started) -> None:
        """Raise ProtocolError unless this stream can continue the call."""

    def use_stream(self, serializer: Serializer) -> int:
        """Continue on another stream. Return the number of frames that were sent again."""


class PhoneStream(ReplaceableWire[Message]):
    """The stream of one call, which another one may replace. It waits until the call ends, at the latest
    after `limits.max_phone_idle_s`. Messages to a lost stream are dropped. only_lost: another one may replace
    it only once it is lost.
    """

    def __init__(
        self,
        wire: Wire[Message],
        call: Call,
        new_serializer: Callable[[], Serializer],
        only_lost: bool = False,
    ) -> None:
        super().__init__(wire, None, partial(call.pause_output, True), partial(call.pause_output, False))
        self._new_serializer = new_serializer
        self._only_lost = only_lost
        self.phone_call: Continuable | None = None
        """Call that a new stream continues."""

    @property
    def may_be_replaced(self) -> bool:
        """True if another stream may continue the call now."""
        return not (self._only_lost and self._connected.is_set())

    async def send(self, message: Message) -> None:
        """Send a message, or drop it if the stream is lost: the next one does not know it."""
        if self._connected.is_set():
            await self._send_on_wire(message)

    async def carry(self, wire: Wire[Message]) -> None:
        """Use this connection from now on, and return when it is no longer used."""
        serializer = self._new_serializer()

        async def begin() -> Callable[[], None]:
            await wire.open()
            try:
                async with asyncio.timeout(START_S):
                    self._check(await _start_of(wire, serializer))
            except (ProtocolError, TimeoutError) as error:
                reason = str(error) or f"no start came within {START_S:.0f} s"
                await wire.close(1002, reason)
                raise Disconnected(reason) from error
            return partial(self._continue, serializer)

        await self._use(wire, begin)

    def _check(self, started: Started) -> None:
        if self.phone_call is not None:
            self.phone_call.check_stream(started)

    def _continue(self, serializer: Serializer) -> None:
        if self.phone_call is not None:
            log.info("connection_resumed", sent_again=self.phone_call.use_stream(serializer))


async def _start_of(wire: Wire[Message], serializer: Serializer) -> Started:
    """Return the start of a new stream. Raises ProtocolError, Disconnected."""
    while True:
        event = serializer.decode(await wire.receive())
        if isinstance(event, Started):
            return event


class PhoneStreams:
    """The named streams of this process's calls. elsewhere: carries a stream to a call of another process."""

    def __init__(self, elsewhere: Elsewhere = nowhere) -> None:
        self._streams: dict[str, PhoneStream] = {}
        self._elsewhere = elsewhere

    @contextmanager
    def running(self, name: str, stream: PhoneStream) -> Iterator[None]:
        """Let other streams of this name continue a call in the block. name: provider and call id there."""
        self._streams[name] = stream
        try:
            yield
        finally:
            stream.release()
            if self._streams.get(name) is stream:
                del self._streams[name]

    def has(self, name: str) -> bool:
        """Return True if the call of this name is in this process, and another stream may continue it."""
        return self._find(name) is not None

    def _find(self, name: str) -> PhoneStream | None:
        stream = self._streams.get(name)
        return stream if stream is not None and stream.may_be_replaced else None

    async def resume(self, wire: WebSocketWire, name: str) -> bool:
        """Continue the call of this name with a new connection, until it is no longer used. Return False,
        with the connection untouched, if no process has such a call that it may continue.
        """
        if (stream := self._find(name)) is not None:
            await stream.carry(wire)
            return True
        accepted = asyncio.Event()
        try:
            async with aclosing(self._elsewhere(name, client_messages(wire, accepted))) as values:
                if not isinstance(await anext(values, None), Accepted):
                    return False
                with suppress(Disconnected):
                    await wire.open()
                    accepted.set()
                    await send_values(wire, values)
        except RpcError as error:
            log.warning("stream_lost", reason=str(error))
            if not accepted.is_set():
                return False
            with suppress(Disconnected):
                await wire.close(1011, "the process that has the call does not answer")
        return True

    async def serve_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        """Continue a call of this process with a connection of another one."""
        stream = self._find(name)
        if stream is None:
            return
        async with aclosing(serve_relayed(messages, stream.carry, "phone stream")) as values:
            async for value in values:
                yield value
