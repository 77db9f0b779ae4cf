"""Many callers on one event loop: a connection each, one timer for all.

It must cost little beside the server it measures: frames are made once, nothing is decoded that no one minds.
"""

from __future__ import annotations

import asyncio
import os
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import cast

from voiceagent.bench.caller import FRAME_S, Caller
from voiceagent.bench.wires import (
    CLOSE,
    PING,
    PONG,
    TEXT,
    Cleared,
    FrameReader,
    Mark,
    Refused,
    SpeechStopped,
    Wire,
    websocket_frame,
)
from voiceagent.failures import CommandFailed

SLOTS = 10
"""Callers are spread over so many moments of each 20 ms, as they would be who called by chance."""
GOING_AWAY = (1000).to_bytes(2, "big")
Clock = Callable[[], float]


class Connection(asyncio.Protocol):
    """The WebSocket of one call, for one caller: what it hears goes there at once."""

    def __init__(self, wire: Wire, host: str, clock: Clock) -> None:
        self._wire = wire
        self._host = host
        self._clock = clock
        self._reader = FrameReader()
        self._opening = b""
        self._transport: asyncio.Transport | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.caller: Caller | None = None
        self.failure = ""
        self._marks: deque[tuple[float, bytes]] = deque()  # when each is reached, and the answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for a WebSocket (RFC 6455, section 4.1)."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance
        key = b64encode(os.urandom(16)).decode("ascii")
        self._transport.write(
            f"GET {self._wire.path} HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        if not self.opened.done():
            self._opening += data
            head, end, data = self._opening.partition(b"\r\n\r\n")
            if not end:
                return
            status = head.partition(b"\r\n")[0].decode("ascii", "replace")
            if " 101 " not in status:
                text = data.decode("utf-8", "replace")
                self.opened.set_exception(CommandFailed(f"the server refused a call: {status}: {text}"))
                return
            self.opened.set_result(None)
        now_s = self._clock()
        for opcode, payload in self._reader.feed(data):
            self._take(opcode, payload, now_s)

    def connection_lost(self, error: Exception | None) -> None:
        """The call is over."""
        if not self.opened.done():
            self.opened.set_exception(CommandFailed("the server closed a connection unanswered"))
        self.failure = self.failure or f"the connection was lost: {error or 'closed by the server'}"

    def send(self, frame: bytes) -> None:
        """Send a whole frame."""
        if self._transport is not None:
            self._transport.write(frame)

    def speak(self, now_s: float) -> None:
        """Send what the caller has spoken by now, and answer the marks that he has heard."""
        caller = self.caller
        while caller is not None and caller.due_s <= now_s:
            self.send(self._wire.numbered(caller.frame(now_s), caller.sent))
        while self._marks and self._marks[0][0] <= now_s:
            self.send(self._marks.popleft()[1])

    def hang_up(self) -> None:
        """Close the call, as a caller does who has heard enough."""
        self.send(websocket_frame(CLOSE, GOING_AWAY))
        if self._transport is not None:
            self._transport.close()

    def _take(self, opcode: int, payload: bytes, now_s: float) -> None:
        if opcode == PING:
            self.send(websocket_frame(PONG, payload))
        elif opcode == CLOSE:
            self.failure = f"the server closed the call: {payload[2:].decode('utf-8', 'replace')}"
        elif self.caller is None:
            return
        elif opcode == TEXT and not self._wire.is_sound(payload):
            match self._wire.notice(payload):
                case SpeechStopped(at_s):
                    self.caller.speech_stopped(at_s)
                case Cleared():
                    self.caller.cleared(now_s)
                    self._marks = deque((now_s, answer) for _, answer in self._marks)
                case Mark(answer):
                    self._marks.append((self.caller.played_out_s, answer))
                case Refused(reason):
                    self.failure = reason
                case None:
                    pass
        else:
            sound = self._wire.sound(payload) if self.caller.waits else None
            self.caller.hear(now_s, sound)


class Crowd:
    """Keeps `size` calls up, a new one for each that ends, until it is cancelled.

    address: host and port. new_caller: makes the next caller, whose call begins at the time it is given.
    lateness_s: how late each round of the timer was. broken: why calls broke off before they were over.
    """

    def __init__(
        self,
        size: int,
        wire: Wire,
        address: tuple[str, int],
        new_caller: Callable[[float], Caller],
        clock: Clock,
    ) -> None:
        self._size = size
        self._wire = wire
        self._address = address
        self._new_caller = new_caller
        self._clock = clock
        self._slots: list[list[Connection]] = [[] for _ in range(SLOTS)]
        self.lateness_s: list[float] = []
        self.broken: list[str] = []

    async def run(self, ramp_s: float) -> None:
        """Call; the first calls begin within `ramp_s`. Raises CommandFailed where one is refused."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pace(), name="pace")
                for place in range(self._size):
                    group.create_task(self._call_again(place, ramp_s * place / self._size))
        except* CommandFailed as failures:
            raise failures.exceptions[0] from None

    async def _call_again(self, place: int, after_s: float) -> None:
        """One line: call after call."""
        await asyncio.sleep(after_s)
        while True:
            await self._call(self._slots[place % SLOTS])

    async def _call(self, slot: list[Connection]) -> None:
        host, port = self._address
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: Connection(self._wire, f"{host}:{port}", self._clock), host, port
        )
        await connection.opened
        for frame in self._wire.greeting():
            connection.send(frame)
        connection.caller = self._new_caller(self._clock())
        slot.append(connection)
        try:
            while not connection.caller.finished and not connection.failure:  # noqa: ASYNC110  need not be soon
                await asyncio.sleep(FRAME_S * SLOTS)
            if connection.failure:
                self.broken.append(connection.failure)
        finally:
            slot.remove(connection)
            connection.hang_up()

    async def _pace(self) -> None:
        """The one timer: in each slot's moment its callers send what they have spoken by then."""
        round_s = FRAME_S / SLOTS
        begin_s = self._clock()
        for turn in count(1):
            due_s = begin_s + turn * round_s
            await asyncio.sleep(max(0.0, due_s - self._clock()))
            now_s = self._clock()
            self.lateness_s.append(now_s - due_s)
            for connection in self._slots[turn % SLOTS]:
                connection.speak(now_s)
