"""Two processes that ask each other things over one socket: many streams at once, opened by either.

Frames, credit and flow control are those of `audio.worker_messages`. As in HTTP/2 (RFC 9113, section 5.1.1),
one end opens streams of even numbers, the other of odd ones.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, NamedTuple, cast

from audio.worker_channel import Channel
from audio.worker_messages import Close, Credit, End, FrameReader, Item, encode

WINDOW_BYTES = 1 << 18
"""What either end of a stream may leave unread; the other sends no more then."""

Service = Callable[[Any, AsyncGenerator[Any, None]], AsyncGenerator[Any, None]]
"""Answers a stream: from what it was opened with and the items that follow, the values that go back."""


class PeerError(Exception):
    """The other process failed at what it was asked, or is not there any more; the text says how."""


class _Open(NamedTuple):
    """A new stream, for the service of that name."""

    stream: int
    service: str
    asked: Any


class _Broken(NamedTuple):
    """The stream failed with this."""

    stream: int
    error: Exception


class _Ends:
    """Both directions of one stream. owed: bytes read here whose credit was not given back yet."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.arriving = Channel(number)
        self.leaving = Channel(number)
        self.answering: asyncio.Task[None] | None = None
        self.owed = 0

    def end(self, failure: BaseException | None = None) -> None:
        self.arriving.end(failure)
        self.leaving.end(failure)


class Peer(asyncio.Protocol):
    """One end of the connection, for `loop.create_unix_connection`.

    services: what the other end may ask for. opens_even: true at one end, false at the other. passed_on:
    exceptions that are raised at the other end as they are; all others become a PeerError.
    """

    def __init__(
        self,
        services: Mapping[str, Service],
        *,
        opens_even: bool,
        passed_on: tuple[type[Exception], ...] = (),
    ) -> None:
        self.gone = asyncio.Event()
        self._services = services
        self._passed_on = passed_on
        self._numbers = itertools.count(0 if opens_even else 1, 2)
        self._streams: dict[int, _Ends] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._frames = FrameReader()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is there."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        """The connection is gone: what was asked fails, what was to be answered stops."""
        self._transport = None
        for ends in list(self._streams.values()):
            ends.end(PeerError("the other process is gone"))
        for answering in self._answering:
            answering.cancel()
        self.gone.set()

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if self._transport is not None:
            self._transport.close()

    async def ask(self, service: str, asked: Any = None) -> Any:
        """The one value that the service answers. Raises PeerError and what is passed on."""
        async with aclosing(self.stream(service, asked)) as values:
            async for value in values:
                return value
        raise PeerError(f"no answer to {service}")

    async def stream(
        self, service: str, asked: Any = None, items: AsyncIterator[Any] | None = None
    ) -> AsyncGenerator[Any, None]:
        """What the service makes of `asked` and the items, as it comes.

        Closing the generator tells the other end and does not wait. Raises PeerError, what is passed on, and
        whatever `items` raises.
        """
        if self._transport is None:
            raise PeerError("the other process is gone")
        number = next(self._numbers)
        ends = self._streams[number] = _Ends(number)
        self._write(_Open(number, service, asked))
        feeding = asyncio.create_task(self._feed(ends, items)) if items is not None else None
        try:
            while (arrival := await ends.arriving.take()) is not None:
                self._read(ends, arrival[1])
                yield arrival[0]
        finally:
            ends.end()
            if self._streams.pop(number, None) is not None:
                self._write(Close(number))
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])

    async def _feed(self, ends: _Ends, items: AsyncIterator[Any]) -> None:
        try:
            async for item in items:
                await self._send_item(ends, item)
        except Exception as error:  # it is the stream's caller who is to see it
            ends.arriving.end(error)
            return
        if ends.number in self._streams:
            self._write(End(ends.number))

    async def _send_item(self, ends: _Ends, item: Any) -> None:
        frame = encode(Item(ends.number, item))
        await ends.leaving.room(len(frame), WINDOW_BYTES)
        self._write_frame(frame)

    async def _answer(self, ends: _Ends, opened: _Open) -> None:
        """Serve one stream, to its end."""
        last: End | _Broken = End(ends.number)
        try:
            service = self._services[opened.service]
            async with aclosing(service(opened.asked, self._arriving(ends))) as values:
                async for value in values:
                    await self._send_item(ends, value)
        except self._passed_on as error:
            last = _Broken(ends.number, error)
        except Exception as error:  # ends this stream, not the process
            last = _Broken(ends.number, PeerError(f"{opened.service}: {type(error).__name__}: {error}"))
        finally:
            if self._streams.pop(ends.number, None) is not None:
                self._write(last)

    async def _arriving(self, ends: _Ends) -> AsyncGenerator[Any, None]:
        while (arrival := await ends.arriving.take()) is not None:
            self._read(ends, arrival[1])
            yield arrival[0]

    def _read(self, ends: _Ends, size: int) -> None:
        """Give credit back, in a few large portions."""
        ends.owed += size
        if ends.owed >= WINDOW_BYTES // 4 and ends.number in self._streams:
            self._write(Credit(ends.number, ends.owed))
            ends.owed = 0

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        for message, size in self._frames.feed(data):
            self._take(message, size)

    def _take(self, message: Any, size: int) -> None:
        if isinstance(message, _Open):
            ends = self._streams[message.stream] = _Ends(message.stream)
            ends.answering = asyncio.create_task(self._answer(ends, message))
            self._answering.add(ends.answering)
            ends.answering.add_done_callback(self._answering.discard)
            return
        known = self._streams.get(message.stream)
        if known is None:
            return  # it was closed here meanwhile
        match message:
            case Item(_, value):
                known.arriving.arrive(value, size)
            case Credit(_, read):
                known.leaving.read_there(read)
            case End() if known.answering is not None:
                known.arriving.end()
            case End():
                self._over(known)
            case _Broken(_, error):
                self._over(known, error)
            case Close():
                self._over(known)
                if known.answering is not None:
                    known.answering.cancel()

    def _over(self, ends: _Ends, failure: Exception | None = None) -> None:
        del self._streams[ends.number]
        ends.end(failure)

    def _write(self, message: Any) -> None:
        self._write_frame(encode(message))

    def _write_frame(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)
