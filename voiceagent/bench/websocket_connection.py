"""A caller over a minimal WebSocket, which costs little compared to the server."""

from __future__ import annotations

import asyncio
import os
import re
from base64 import b64encode
from collections import deque
from collections.abc import Callable
from typing import cast

from voiceagent.bench.caller import Talker
from voiceagent.bench.crowd import ServerBusy
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
    Understood,
    Wire,
    websocket_frame,
)
from voiceagent.validation.errors import CommandFailed

NORMAL_CLOSURE = (1000).to_bytes(2, "big")
Clock = Callable[[], float]


class WebSocketConnection(asyncio.Protocol):
    """WebSocket of one call of one caller, who receives its audio at once."""

    def __init__(self, wire: Wire, host: str, clock: Clock) -> None:
        self._wire = wire
        self._host = host
        self._clock = clock
        self._reader = FrameReader()
        self._opening = b""
        self._transport: asyncio.Transport | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.caller: Talker | None = None
        self.failure = ""
        self.hung_up = False
        self._marks: deque[tuple[float, bytes]] = deque()  # when each is reached, and its answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the opening handshake (RFC 6455, section 4.1)."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's does not inherit from it
        key = b64encode(os.urandom(16)).decode("ascii")
        self._transport.write(
            f"GET {self._wire.path} HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Process data of the server."""
        if not self.opened.done():
            self._opening += data
            head, end, data = self._opening.partition(b"\r\n\r\n")
            if not end:
                return
            status = head.partition(b"\r\n")[0].decode("ascii", "replace")
            if " 101 " not in status:
                if len(data) < _length_of_body(head):
                    return
                # one that is full or starting has its own words
                busy = " 503 " in status
                said = filter(
                    None, (status, data.decode("utf-8", "replace"), "" if busy else self._wire.needs)
                )
                refused = ServerBusy if busy else CommandFailed
                self.opened.set_exception(refused(f"the server refused a call: {': '.join(said)}"))
                return
            self.opened.set_result(None)
        now_s = self._clock()
        for opcode, payload in self._reader.feed(data):
            self._on_frame(opcode, payload, now_s)

    def connection_lost(self, error: Exception | None) -> None:
        """End the call."""
        if not self.opened.done():
            self.opened.set_exception(CommandFailed("the server closed a connection unanswered"))
        self.failure = self.failure or f"the connection was lost: {error or 'closed by the server'}"
        self._transport = None  # uvloop's raises on writes after this

    def send(self, frame: bytes) -> None:
        if self._transport is not None:
            self._transport.write(frame)

    def speak(self, now_s: float) -> None:
        """Send what the caller has spoken by now, and answer the marks played by now."""
        caller = self.caller
        while caller is not None and caller.due_s <= now_s:
            self.send(self._wire.numbered(caller.frame(now_s), caller.sent))
        while self._marks and self._marks[0][0] <= now_s:
            self.send(self._marks.popleft()[1])

    def hang_up(self) -> None:
        """Close the call normally."""
        self.send(websocket_frame(CLOSE, NORMAL_CLOSURE))
        if self._transport is not None:
            self._transport.close()

    def _on_frame(self, opcode: int, payload: bytes, now_s: float) -> None:
        if opcode == PING:
            self.send(websocket_frame(PONG, payload))
        elif opcode == CLOSE:
            self.hung_up = payload[:2] == NORMAL_CLOSURE
            self.failure = f"the server closed the call: {payload[2:].decode('utf-8', 'replace')}"
        elif self.caller is None:
            return
        elif opcode == TEXT and not self._wire.is_sound(payload):
            match self._wire.notification(payload):
                case SpeechStopped(at_s):
                    self.caller.speech_stopped(at_s)
                case Cleared():
                    self.caller.cleared(now_s)
                    self._marks = deque((now_s, answer) for _, answer in self._marks)
                case Understood(text):
                    self.caller.understood(text)
                case Mark(answer):
                    self._marks.append((self.caller.played_out_s, answer))
                case Refused(reason):
                    self.failure = reason
                case None:
                    pass
        else:
            sound = self._wire.sound(payload) if self.caller.waits else None
            self.caller.hear(now_s, sound, self._wire.seconds(payload))


def _length_of_body(head: bytes) -> int:
    """Return the length of a refusal's body, which may arrive separately."""
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    return 0 if length is None else int(length[1])


async def connect_websocket(wire: Wire, address: tuple[str, int], clock: Clock) -> WebSocketConnection:
    """Open a call. address: host and port. Raises CommandFailed if it is refused."""
    host, port = address
    _, connection = await asyncio.get_running_loop().create_connection(
        lambda: WebSocketConnection(wire, f"{host}:{port}", clock), host, port
    )
    await connection.opened
    for frame in wire.greeting():
        connection.send(frame)
    return connection
