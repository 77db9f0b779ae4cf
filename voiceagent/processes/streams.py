"""Streams between two processes: who answers one, and this end of one in an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

from voiceagent.processes.frame_socket import PATIENCE_S
from voiceagent.processes.policies.flow_control import ReceiveWindow, SendWindow
from voiceagent.processes.rounds import InRound, rounds_of

Service = Callable[[Any, AsyncGenerator[Any, None]], AsyncGenerator[Any, None]]
"""Answers a stream: from what it was opened with and the items that follow, the values that go back."""


class Unhurried(NamedTuple):
    """A value of a service that has `PATIENCE_S`.

    join: makes one value of it and the one behind it, so that the other end has one where it had many.
    """

    value: Any
    join: Callable[[Any, Any], Any]


def single_answer(answer: Callable[[Any], Any]) -> Service:
    """The service for `RpcConnection.ask`: the one value that `answer`, a coroutine function, returns."""

    async def service(asked: Any, _: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        yield await answer(asked)

    return service


class Stream:
    """Values that arrived and were not read yet, and the room for those that leave.

    replaceable: says of an unread value that a newer one makes it worthless. answering: the task that serves
    the stream, at the end that answers it.
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

    def arrive(self, value: Any, size: int) -> int:
        """Note a value; the credit to give back for one that it makes worthless."""
        credit = 0
        # only the newest: an older one that must be read stands between
        if self._replaceable is not None and self._arrived and self._replaceable(self._arrived[-1][0]):
            credit = self._receiving.read(self._arrived.pop()[1])
        self._arrived.append((value, size))
        self._arrival.set()
        return credit

    def credited(self, size: int) -> None:
        """The other end has read so many bytes."""
        self._sending.credited(size)
        self._room.set()

    def end(self, failure: BaseException | None = None) -> None:
        """No more will arrive; `failure`, where there is one, is raised after what has."""
        if not self.over:
            self.over = True
            self._failure = failure
            self._arrival.set()
            self._room.set()

    async def room(self, size: int) -> None:
        """Wait until a frame of `size` bytes may be sent, and count it; does not wait once it is over."""
        while not (self.over or self._sending.has_room(size)):
            self._room.clear()
            await self._room.wait()
        self._sending.sent(size)

    @property
    def has_room(self) -> bool:
        """Whether something small may be sent now."""
        return self._sending.has_room(0)

    def sent(self, size: int) -> None:
        """A frame went for which there was room when it began to wait."""
        self._sending.sent(size)

    async def take(self) -> tuple[Any, int] | None:
        """The next value and the credit to give back; None at the end. Raises what the stream failed with."""
        # what has arrived is read before the failure that came behind it
        while not self._arrived:
            if self._failure is not None:
                raise self._failure
            if self.over:
                return None
            self._arrival.clear()
            await self._arrival.wait()
        value, size = self._arrived.popleft()
        return value, self._receiving.read(size)


class UnhurriedValues:
    """Values that have time, one a stream: what comes behind one is joined to it.

    send: called with each stream and its value when their time is over. They go at whole multiples of
    `PATIENCE_S`, so that the other end has all of a while in one wake-up.
    """

    def __init__(self, send: Callable[[Stream, Any], None]) -> None:
        self._send = send
        self._kept: dict[Stream, Unhurried] = {}
        self._timer: asyncio.Handle | InRound | None = None

    def joined(self, stream: Stream, value: Any) -> Any:
        """`value`, `Unhurried` or not, as one with what was kept of the stream."""
        before = self._kept.pop(stream, None)
        if before is None:
            return value
        if isinstance(value, Unhurried):
            return Unhurried(before.join(before.value, value.value), value.join)
        return before.join(before.value, value)

    def keep(self, stream: Stream, value: Unhurried) -> None:
        """Keep the only value of a stream, until more of it comes or time is over."""
        self._kept[stream] = value
        if self._timer is None:
            loop = asyncio.get_running_loop()
            left_s = PATIENCE_S - loop.time() % PATIENCE_S
            self._timer = rounds_of(loop).call_later(left_s, self._send_all)

    def send(self, stream: Stream) -> None:
        """Send now what is kept of a stream."""
        if (kept := self._kept.pop(stream, None)) is not None:
            self._send(stream, kept.value)

    def clear(self) -> None:
        """Send nothing of it."""
        self._kept.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send_all(self) -> None:
        self._timer = None
        for stream in list(self._kept):
            self.send(stream)
