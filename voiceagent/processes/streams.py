"""Streams between two processes: services, and one end of a stream in an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

from voiceagent.processes.frame_socket import FLUSH_INTERVAL_S
from voiceagent.processes.policies.flow_control import ReceiveWindow, SendWindow
from voiceagent.processes.rounds import InRound, rounds_of

Service = Callable[[Any, AsyncGenerator[Any, None]], AsyncGenerator[Any, None]]
"""Serves a stream: yields values for the request and the items that follow."""


class CoalescedValue(NamedTuple):
    """A value that a service allows to be delayed by `FLUSH_INTERVAL_S`.

    join: merges this value and the next one into one.
    """

    value: Any
    join: Callable[[Any, Any], Any]


def single_answer(answer: Callable[[Any], Any]) -> Service:
    """Return the service for `RpcConnection.ask` that yields the result of this coroutine function."""

    async def service(asked: Any, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        yield await answer(asked)

    return service


class Stream:
    """One end of a stream: unread values, and flow control of outgoing ones.

    replaceable: returns True for an unread value that the next one makes obsolete. answering: the task that
    serves the stream, at the serving end.
    """

    def __init__(
        self,
        number: int,
        send_window: int,
        receive_window: int,
        replaceable: Callable[[Any], bool] | None = None,
    ) -> None:
        self.number = number
        self.answering: asyncio.Task[None] | None = None
        self.over = False
        self._failure: BaseException | None = None
        self._sending = SendWindow(send_window)
        self._receiving = ReceiveWindow(receive_window)
        self._replaceable = replaceable
        self._arrived: deque[tuple[Any, int]] = deque()
        self._arrival = asyncio.Event()
        self._room = asyncio.Event()

    def put(self, value: Any, size: int) -> int:
        """Queue a value. Return the credit to grant for one that it replaced."""
        credit = 0
        # only the newest: an older one that must be read stands between
        if self._replaceable is not None and self._arrived and self._replaceable(self._arrived[-1][0]):
            credit = self._receiving.read(self._arrived.pop()[1])
        self._arrived.append((value, size))
        self._arrival.set()
        return credit

    def add_credit(self, size: int) -> None:
        """Count bytes that the other end has read."""
        self._sending.add_credit(size)
        self._room.set()

    def end(self, failure: BaseException | None = None) -> None:
        """End the stream; `failure`, if any, is raised after the queued values."""
        if not self.over:
            self.over = True
            self._failure = failure
            self._arrival.set()
            self._room.set()

    async def wait_for_room(self, size: int) -> None:
        """Wait until a frame of `size` bytes may be sent, and count it; returns at once after the end."""
        while not (self.over or self._sending.has_room(size)):
            self._room.clear()
            await self._room.wait()
        self._sending.count_sent(size)

    @property
    def has_room(self) -> bool:
        """True if a small frame may be sent now."""
        return self._sending.has_room(0)

    def count_sent(self, size: int) -> None:
        """Count the bytes of a coalesced frame. There was room for it when it was queued."""
        self._sending.count_sent(size)

    async def next_value(self) -> tuple[Any, int] | None:
        """Return the next value and the credit to grant, or None at the end. Raises the stream's failure."""
        # values that arrived before a failure are read first
        while not self._arrived:
            if self._failure is not None:
                raise self._failure
            if self.over:
                return None
            self._arrival.clear()
            await self._arrival.wait()
        value, size = self._arrived.popleft()
        return value, self._receiving.read(size)


class CoalescedValues:
    """Delayed values, one per stream: further values are merged into it.

    send: called with each stream and its value when the delay is over. All are sent at whole multiples of
    `FLUSH_INTERVAL_S`, so that the other end receives them in one wake-up.
    """

    def __init__(self, send: Callable[[Stream, Any], None]) -> None:
        self._send = send
        self._delayed: dict[Stream, CoalescedValue] = {}
        self._timer: asyncio.Handle | InRound | None = None

    def merged(self, stream: Stream, value: Any) -> Any:
        """Merge `value`, `CoalescedValue` or not, with the delayed value of the stream, if any."""
        before = self._delayed.pop(stream, None)
        if before is None:
            return value
        if isinstance(value, CoalescedValue):
            return CoalescedValue(before.join(before.value, value.value), value.join)
        return before.join(before.value, value)

    def delay(self, stream: Stream, value: CoalescedValue) -> None:
        """Delay the value of a stream that has none delayed."""
        self._delayed[stream] = value
        if self._timer is None:
            loop = asyncio.get_running_loop()
            left_s = FLUSH_INTERVAL_S - loop.time() % FLUSH_INTERVAL_S
            self._timer = rounds_of(loop).call_later(left_s, self._send_all)

    def send(self, stream: Stream) -> None:
        """Send the delayed value of a stream now."""
        if (kept := self._delayed.pop(stream, None)) is not None:
            self._send(stream, kept.value)

    def clear(self) -> None:
        """Drop all delayed values."""
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_all(self) -> None:
        self._timer = None
        for stream in list(self._delayed):
            self.send(stream)
