"""Two processes that ask each other things over one socket: many streams at once, opened by either.

This is the end in an event loop; a call worker has one at both ends. `engine_process` is the end of a process
that blocks.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any

from voiceagent.processes.frame_socket import FrameSocket
from voiceagent.processes.messages import (
    Broken,
    Close,
    Credit,
    End,
    Item,
    LifeMessage,
    Message,
    Open,
    RpcError,
    StreamMessage,
    Windows,
    encode,
)
from voiceagent.processes.streams import Service, Stream, Unhurried, UnhurriedValues

_DEFAULT_WINDOWS = Windows()


class RpcConnection:
    """One end of a connection between two processes.

    services: what the other end may ask for. opens_even: true at one end, false at the other. passed_on:
    exceptions that are raised at the other end as they are; all others become an RpcError. on_life: called
    with each message about the other process as a whole. on_lost: called once when the other end is gone; the
    reason that streams fail with.
    """

    def __init__(
        self,
        connection: socket.socket,
        services: Mapping[str, Service] | None = None,
        *,
        opens_even: bool,
        passed_on: tuple[type[Exception], ...] = (),
        on_life: Callable[[LifeMessage], None] = lambda message: None,
        on_lost: Callable[[], str] = lambda: "the other process is gone",
    ) -> None:
        self.gone = asyncio.Event()
        self._socket = FrameSocket(connection, self._take, self.lose)
        self._services = {} if services is None else services
        self._passed_on = passed_on
        self._on_life = on_life
        self._on_lost = on_lost
        self._numbers = itertools.count(0 if opens_even else 1, 2)
        self._streams: dict[int, Stream] = {}
        self._unhurried = UnhurriedValues(self._send_unhurried)
        self._answering: set[asyncio.Task[None]] = set()
        self._ended = ""

    @property
    def open_streams(self) -> int:
        """How many there are."""
        return len(self._streams)

    def attach(self) -> None:
        """Listen in the running event loop; the streams of an earlier one are abandoned."""
        if self._socket.attach():
            # their tasks are gone with their loop: the other end must not work for them
            for number in self._streams:
                self._write(Close(number))
            self._streams.clear()
            self._unhurried.clear()

    def close(self, reason: str = "closed") -> None:
        """Close the connection, failing what runs with `reason`; a second call does nothing."""
        self.attach()
        self._socket.flush()
        self._end(reason)

    def lose(self) -> None:
        """The other end is known to be gone, though the socket has not told yet."""
        self.attach()
        if not self._ended:
            self._end(self._on_lost())

    def notify(self, message: LifeMessage) -> None:
        """Say something about this process, or the other, as a whole; at once, as this one may end then."""
        self._write(message)
        self._socket.flush()

    async def ask(self, service: str, asked: Any = None) -> Any:
        """The one value that the service answers. Raises RpcError and what is passed on."""
        async with aclosing(self.stream(service, asked)) as values:
            async for value in values:
                return value
        raise RpcError(f"no answer to {service}")

    async def stream(
        self,
        service: str,
        asked: Any = None,
        items: AsyncIterator[Any] | None = None,
        *,
        windows: Windows = _DEFAULT_WINDOWS,
        replaceable: Callable[[Any], bool] | None = None,
        patient: Callable[[Any], bool] | None = None,
    ) -> AsyncGenerator[Any, None]:
        """What the service makes of `asked` and the items, as it comes.

        `items` is asked for more only while there is room in its window. replaceable: says of a value that
        nobody has read yet that a newer one makes it worthless; it is left out then. patient: says of an item
        that it has `PATIENCE_S`; it goes with whatever is sent before that is over. Closing the generator
        tells the other end and does not wait. Raises RpcError, what is passed on, and whatever `items`
        raises.
        """
        self.attach()
        if self._ended:
            raise RpcError(self._ended)
        number = next(self._numbers)
        stream = self._streams[number] = Stream(number, *windows, replaceable)
        feeding: asyncio.Task[None] | None = None
        try:
            self._write(Open(number, service, asked, windows))
            if items is not None:
                feeding = asyncio.create_task(self._feed(stream, items, patient))
            while (arrival := await stream.take()) is not None:
                self._give_back(stream, arrival[1])
                yield arrival[0]
        finally:
            stream.end()
            if self._streams.pop(number, None) is not None:
                self._write(Close(number))
            if feeding is not None:
                feeding.cancel()
                # not awaited itself: how it ended is no matter, and a cancellation must not be taken for
                # ours
                await asyncio.wait([feeding])

    async def _feed(
        self, stream: Stream, items: AsyncIterator[Any], patient: Callable[[Any], bool] | None
    ) -> None:
        try:
            async for item in items:
                await self._send_item(stream, item, patient is not None and patient(item))
        except Exception as error:  # it is the stream's caller who is to see it
            stream.end(error)
            return
        if stream.number in self._streams:
            self._write(End(stream.number))

    async def _send_item(self, stream: Stream, item: Any, patient: bool = False) -> None:
        frame = encode(Item(stream.number, item))
        await stream.room(len(frame))
        if stream.number in self._streams:
            self._socket.write(frame, soon=not patient)

    async def _answer(self, stream: Stream, opened: Open) -> None:
        """Serve one stream, to its end."""
        last: End | Broken = End(stream.number)
        try:
            service = self._services[opened.service]
            async with aclosing(service(opened.asked, self._arriving(stream))) as values:
                async for value in values:
                    await self._send_value(stream, value)
        except self._passed_on as error:
            last = Broken(stream.number, error)
        except Exception as error:  # ends this stream, not the process
            # in words: an exception of this process may not be readable in the other
            last = Broken(stream.number, RpcError(f"{opened.service}: {type(error).__name__}: {error}"))
        finally:
            self._unhurried.send(stream)
            if self._streams.pop(stream.number, None) is not None:
                self._write(last)

    async def _send_value(self, stream: Stream, value: Any) -> None:
        """A value of a service, as one with those of the stream that have waited."""
        value = self._unhurried.joined(stream, value)
        if isinstance(value, Unhurried) and stream.has_room:
            self._unhurried.keep(stream, value)
        else:
            await self._send_item(stream, value.value if isinstance(value, Unhurried) else value)

    def _send_unhurried(self, stream: Stream, value: Any) -> None:
        if stream.number in self._streams:
            frame = encode(Item(stream.number, value))
            stream.sent(len(frame))
            self._socket.write(frame)

    async def _arriving(self, stream: Stream) -> AsyncGenerator[Any, None]:
        while (arrival := await stream.take()) is not None:
            self._give_back(stream, arrival[1])
            yield arrival[0]

    def _give_back(self, stream: Stream, credit: int) -> None:
        if credit and stream.number in self._streams:
            self._write(Credit(stream.number, credit))

    def _take(self, message: Message, size: int) -> None:
        if isinstance(message, LifeMessage):
            self._on_life(message)
        elif isinstance(message, Open):
            windows = message.windows
            stream = self._streams[message.stream] = Stream(message.stream, windows.here, windows.there)
            stream.answering = asyncio.create_task(self._answer(stream, message))
            self._answering.add(stream.answering)
            stream.answering.add_done_callback(self._answering.discard)
        elif (known := self._streams.get(message.stream)) is not None:  # else closed here meanwhile
            self._take_of(known, message, size)

    def _take_of(self, stream: Stream, message: StreamMessage, size: int) -> None:
        match message:
            case Item(_, value):
                self._give_back(stream, stream.arrive(value, size))
            case Credit(_, read):
                stream.credited(read)
            case End() if stream.answering is not None:
                stream.end()
            case End():
                self._over(stream)
            case Broken(_, error):
                self._over(stream, error)
            case Close():
                self._over(stream)
                if stream.answering is not None:
                    # the asker has gone: what it asked for is stopped, and not made to its end
                    stream.answering.cancel()

    def _over(self, stream: Stream, failure: Exception | None = None) -> None:
        del self._streams[stream.number]
        stream.end(failure)

    def _end(self, reason: str) -> None:
        """What was asked fails, what was to be answered stops."""
        if self._ended:
            return
        self._ended = reason
        self._socket.close()
        streams, self._streams = self._streams, {}
        self._unhurried.clear()
        for stream in streams.values():
            stream.end(RpcError(reason))
        for answering in self._answering:
            answering.cancel()
        self.gone.set()

    def _write(self, message: Message) -> None:
        self._socket.write(encode(message))
