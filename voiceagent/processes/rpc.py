"""RPC between two processes over one socket: many concurrent streams, opened by either end.

This is the end in an event loop; call workers use it at both ends. `engine_process` is the end of a process
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
from voiceagent.processes.streams import CoalescedValue, CoalescedValues, Service, Stream

_DEFAULT_WINDOWS = Windows()


class RpcConnection:
    """One end of a connection between two processes.

    services: offered to the other end. opens_even: True at one end, False at the other. passed_on: exception
    classes raised unchanged at the other end; all others become an RpcError. on_life: called with each
    message about the other process as a whole. on_lost: called once when the other end is gone; returns the
    reason for failing the streams.
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
        self._socket = FrameSocket(connection, self._on_message, self.lose)
        self._services = {} if services is None else services
        self._passed_on = passed_on
        self._on_life = on_life
        self._on_lost = on_lost
        self._numbers = itertools.count(0 if opens_even else 1, 2)
        self._streams: dict[int, Stream] = {}
        self._coalesced = CoalescedValues(self._send_coalesced)
        self._serving: set[asyncio.Task[None]] = set()
        self._ended = ""

    @property
    def open_streams(self) -> int:
        return len(self._streams)

    @property
    def unsent_bytes(self) -> int:
        """Bytes that the other end has not accepted yet."""
        return self._socket.unsent_bytes

    def attach(self) -> None:
        """Read in the running event loop. Streams of a previous event loop are abandoned."""
        if self._socket.attach():
            # their tasks died with their loop: the other end must not work for them
            for number in self._streams:
                self._write(Close(number))
            self._streams.clear()
            self._coalesced.clear()

    def close(self, reason: str = "closed") -> None:
        """Close the connection, failing open streams with `reason`; further calls do nothing."""
        self.attach()
        self._socket.flush()
        self._fail_all(reason)

    def lose(self) -> None:
        """Handle the loss of the other end before the socket reports it."""
        self.attach()
        if not self._ended:
            self._fail_all(self._on_lost())

    def notify(self, message: LifeMessage) -> None:
        """Send a message about a process as a whole, immediately, as this process may end next."""
        self._write(message)
        self._socket.flush()

    async def ask(self, service: str, asked: Any = None) -> Any:
        """Return the single value of a service. Raises RpcError and the exceptions passed on."""
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
        """Yield the values of a service for the request `asked` and the items.

        `items` is read only while its window has room. replaceable: returns True for an unread value that the
        next one makes obsolete; such a value is dropped. patient: returns True for an item that may be
        delayed by `FLUSH_INTERVAL_S`, to share a write with others. Closing the generator cancels the stream
        without waiting. Raises RpcError, the exceptions passed on, and exceptions of `items`.
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
                feeding = asyncio.create_task(self._send_items(stream, items, patient))
            while (arrival := await stream.next_value()) is not None:
                self._grant_credit(stream, arrival[1])
                yield arrival[0]
        finally:
            stream.end()
            if self._streams.pop(number, None) is not None:
                self._write(Close(number))
            if feeding is not None:
                feeding.cancel()
                # not awaited directly: its result is irrelevant, and its cancellation must not be mistaken
                # for ours
                await asyncio.wait([feeding])

    async def _send_items(
        self, stream: Stream, items: AsyncIterator[Any], patient: Callable[[Any], bool] | None
    ) -> None:
        try:
            async for item in items:
                await self._send_item(stream, item, patient is not None and patient(item))
        except Exception as error:  # raised to the caller of the stream
            stream.end(error)
            return
        if stream.number in self._streams:
            self._write(End(stream.number))

    async def _send_item(self, stream: Stream, item: Any, patient: bool = False) -> None:
        frame = encode(Item(stream.number, item))
        await stream.wait_for_room(len(frame))
        if stream.number in self._streams:
            self._socket.write(frame, soon=not patient)

    async def _serve(self, stream: Stream, opened: Open) -> None:
        last: End | Broken = End(stream.number)
        try:
            service = self._services[opened.service]
            async with aclosing(service(opened.asked, self._received_values(stream))) as values:
                async for value in values:
                    await self._send_value(stream, value)
        except self._passed_on as error:
            last = Broken(stream.number, error)
        except Exception as error:  # ends this stream, not the process
            # as text: the other process may be unable to unpickle the exception
            last = Broken(stream.number, RpcError(f"{opened.service}: {type(error).__name__}: {error}"))
        finally:
            self._coalesced.send(stream)
            if self._streams.pop(stream.number, None) is not None:
                self._write(last)

    async def _send_value(self, stream: Stream, value: Any) -> None:
        """Send a value of a service, merged with delayed values of the stream."""
        value = self._coalesced.merged(stream, value)
        if isinstance(value, CoalescedValue) and stream.has_room:
            self._coalesced.delay(stream, value)
        else:
            await self._send_item(stream, value.value if isinstance(value, CoalescedValue) else value)

    def _send_coalesced(self, stream: Stream, value: Any) -> None:
        if stream.number in self._streams:
            frame = encode(Item(stream.number, value))
            stream.count_sent(len(frame))
            self._socket.write(frame)

    async def _received_values(self, stream: Stream) -> AsyncGenerator[Any, None]:
        while (arrival := await stream.next_value()) is not None:
            self._grant_credit(stream, arrival[1])
            yield arrival[0]

    def _grant_credit(self, stream: Stream, credit: int) -> None:
        if credit and stream.number in self._streams:
            self._write(Credit(stream.number, credit))

    def _on_message(self, message: Message, size: int) -> None:
        if isinstance(message, LifeMessage):
            self._on_life(message)
        elif isinstance(message, Open):
            windows = message.windows
            stream = self._streams[message.stream] = Stream(message.stream, windows.here, windows.there)
            stream.answering = asyncio.create_task(self._serve(stream, message))
            self._serving.add(stream.answering)
            stream.answering.add_done_callback(self._serving.discard)
        elif (known := self._streams.get(message.stream)) is not None:  # or else closed here meanwhile
            self._on_stream_message(known, message, size)

    def _on_stream_message(self, stream: Stream, message: StreamMessage, size: int) -> None:
        match message:
            case Item(_, value):
                self._grant_credit(stream, stream.put(value, size))
            case Credit(_, read):
                stream.add_credit(read)
            case End() if stream.answering is not None:
                stream.end()
            case End():
                self._end_stream(stream)
            case Broken(_, error):
                self._end_stream(stream, error)
            case Close():
                self._end_stream(stream)
                if stream.answering is not None:
                    # the opener cancelled: stop the work
                    stream.answering.cancel()

    def _end_stream(self, stream: Stream, failure: Exception | None = None) -> None:
        del self._streams[stream.number]
        stream.end(failure)

    def _fail_all(self, reason: str) -> None:
        """Fail the streams opened here, and cancel those served here."""
        if self._ended:
            return
        self._ended = reason
        self._socket.close()
        streams, self._streams = self._streams, {}
        self._coalesced.clear()
        for stream in streams.values():
            stream.end(RpcError(reason))
        for answering in self._serving:
            answering.cancel()
        self.gone.set()

    def _write(self, message: Message) -> None:
        self._socket.write(encode(message))
