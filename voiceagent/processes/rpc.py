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

from voiceagent.processes.messages import (
    Broken,
    Close,
    Credit,
    End,
    FrameReader,
    Item,
    LifeMessage,
    Message,
    Open,
    RpcError,
    StreamMessage,
    Windows,
    encode,
)
from voiceagent.processes.streams import Service, Stream, Unhurried

PATIENCE_S = 0.05
"""So long what has time waits for company: each message on its own would wake the other process."""
_READ_BYTES = 1 << 18
_DEFAULT_WINDOWS = Windows()


class RpcConnection:
    """One end of a connection between two processes.

    services: what the other end may ask for. opens_even: true at one end, false at the other. passed_on:
    exceptions that are raised at the other end as they are; all others become an RpcError. on_life: called
    with each message about the other process as a whole. on_lost: called once when the other end is gone; the
    reason that streams fail with.

    It follows its user from one event loop to the next, as long as only one at a time uses it: the engines
    of scripts and tests outlive a loop. So it reads its socket itself; a transport belongs to one loop.
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
        connection.setblocking(False)
        self.gone = asyncio.Event()
        self._socket = connection
        self._services = {} if services is None else services
        self._passed_on = passed_on
        self._on_life = on_life
        self._on_lost = on_lost
        self._numbers = itertools.count(0 if opens_even else 1, 2)
        self._streams: dict[int, Stream] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._frames = FrameReader()
        self._unsent = bytearray()
        self._flushing: asyncio.Handle | None = None
        self._flushes_soon = False
        self._blocked = False
        self._ended = ""

    @property
    def open_streams(self) -> int:
        """How many there are."""
        return len(self._streams)

    def attach(self) -> None:
        """Listen in the running event loop; the streams of an earlier one are abandoned."""
        loop = asyncio.get_running_loop()
        if self._ended or loop is self._loop:
            return
        if self._loop is not None:
            self._detach()
            # their tasks are gone with their loop: the other end must not work for them
            for number in self._streams:
                self._unsent += encode(Close(number))
            self._streams.clear()
        self._loop = loop
        loop.add_reader(self._socket, self._readable)
        if self._unsent:
            self._write_frame(b"")

    def close(self, reason: str = "closed") -> None:
        """Close the connection, failing what runs with `reason`; a second call does nothing."""
        self.attach()
        self._flush()
        self._end(reason)

    def lose(self) -> None:
        """The other end is known to be gone, though the socket has not told yet."""
        self.attach()
        if not self._ended:
            self._end(self._on_lost())

    def notify(self, message: LifeMessage) -> None:
        """Say something about this process, or the other, as a whole; at once, as this one may end then."""
        self._write(message)
        self._flush()

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
            self._write_frame(frame, soon=not patient)

    async def _answer(self, stream: Stream, opened: Open) -> None:
        """Serve one stream, to its end."""
        last: End | Broken = End(stream.number)
        try:
            service = self._services[opened.service]
            async with aclosing(service(opened.asked, self._arriving(stream))) as values:
                async for value in values:
                    if isinstance(value, Unhurried):
                        await self._send_item(stream, value.value, patient=True)
                    else:
                        await self._send_item(stream, value)
        except self._passed_on as error:
            last = Broken(stream.number, error)
        except Exception as error:  # ends this stream, not the process
            # in words: an exception of this process may not be readable in the other
            last = Broken(stream.number, RpcError(f"{opened.service}: {type(error).__name__}: {error}"))
        finally:
            if self._streams.pop(stream.number, None) is not None:
                self._write(last)

    async def _arriving(self, stream: Stream) -> AsyncGenerator[Any, None]:
        while (arrival := await stream.take()) is not None:
            self._give_back(stream, arrival[1])
            yield arrival[0]

    def _give_back(self, stream: Stream, credit: int) -> None:
        if credit and stream.number in self._streams:
            self._write(Credit(stream.number, credit))

    def _readable(self) -> None:
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            # reset by a process that was killed: the same as its end
            data = b""
        if not data:
            self.lose()
            return
        try:
            for message, size in self._frames.feed(data):
                self._take(message, size)
        except BaseException:
            self.lose()  # behind a message that cannot be read none can be
            raise

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
        self._detach()
        self._socket.close()
        self._unsent.clear()
        streams, self._streams = self._streams, {}
        for stream in streams.values():
            stream.end(RpcError(reason))
        for answering in self._answering:
            answering.cancel()
        self.gone.set()

    def _detach(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._cancel_flush()
        self._loop = self._flushing = None
        self._blocked = False

    def _write(self, message: Message) -> None:
        self._write_frame(encode(message))

    def _write_frame(self, frame: bytes, soon: bool = True) -> None:
        """What is written in one round of the event loop goes together, and what waits from earlier ones with
        it; credit bounds what may wait here.
        """
        if self._ended:
            return
        self._unsent += frame
        if self._loop is None or self._blocked or (self._flushing is not None and self._flushes_soon >= soon):
            return
        self._cancel_flush()
        self._flushes_soon = soon
        self._flushing = (
            self._loop.call_soon(self._flush) if soon else self._loop.call_later(PATIENCE_S, self._flush)
        )

    def _cancel_flush(self) -> None:
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None

    def _flush(self) -> None:
        """Send what the socket takes now, and the rest when it can."""
        self._cancel_flush()
        if self._ended or self._loop is None or not self._unsent:
            return
        try:
            del self._unsent[: self._socket.send(self._unsent)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._unsent.clear()  # the reader will see the end of it
        if self._unsent:
            # the buffer of the kernel is full: the rest goes when there is room, and what comes behind it
            # waits too
            self._loop.add_writer(self._socket, self._flush)
            self._blocked = True
        elif self._blocked:
            self._loop.remove_writer(self._socket)
            self._blocked = False
