"""A faster path through uvicorn for the calls of a server: 100 messages a second and call go along it.

The way of ASGI costs a message two system calls (reading is paused and resumed around each), a queue and a
task switch. Here a text message is handed over in the callback that read it, and one is written where it is
made. ASGI's own way stays open, and in order: it is taken wherever this one cannot be.

What was read is, nearly always, whole text messages: one, or a few where the server is late. Those are
unmasked here; websockets' parser, which is ready for a byte at a time, costs as much as all that is done with
the sound then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import Protocol, State

from voiceagent.transports.connection import LONG_BYTES, TURN_MESSAGES
from voiceagent.transports.reading_rounds import RoundTransport, reading_of

try:
    from websockets.speedups import apply_mask
except ImportError:  # where there is no wheel of it for this machine
    from websockets.utils import apply_mask

EXTENSION = "voiceagent.transports.uvicorn_internals"
"""Where it stands among the extensions of an ASGI scope."""

PIECE_BYTES = 16_384
"""Bytes of what came that are taken in before others have their turn: up to 2,700 frames."""
SILENT = "the client answered no ping: it stands still, or its network does"
CLOSE_S = 1.0
"""How long a client that is given up has to read why."""
OVERSLEPT_S = 1.0
"""Woken this much later than asked for, this process stood still."""
MAX_FRAGMENTS = 1_024
"""Most fragments of one message."""

_DECIDED = ("websocket.accept", "websocket.http.response.body")
"""Messages after which a handshake is over, one way or the other."""
_HEAD = 6  # bytes before what a short message says: FIN and opcode, mask bit and length, mask
_WHOLE_TEXT = 0x81
_WHOLE_BINARY = 0x82
_MASKED = 0x80
_LENGTH_IN_2_BYTES = 126
_LENGTH_IN_8_BYTES = 127
_MASK = 4
_OPEN = State.OPEN  # Python 3.11 looks an attribute of an Enum up by a function, which shows per frame


class FastPath(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol, for `uvicorn.Config(ws=FastPath)`."""

    take: Callable[[str], None] | None = None
    """Is handed each text message in place of ASGI's `receive`; must not raise. None: nothing is."""
    _turn_left = 0
    _rest = b""  # came already, and waits until others had their turn
    _heard = False  # anything since the last ping
    _between = False  # the parser waits for a message's first byte, and no message is half there

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be read with others, once the fast path is open."""
        rounds = reading_of(self.loop)
        self._reading = RoundTransport(cast("asyncio.Transport", transport), self.data_received, rounds)
        super().connection_made(self._reading)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is read any more."""
        self._reading.lost()
        super().connection_lost(exc)

    def open(self, take: Callable[[str], None]) -> None:
        """From now on hand text messages to `take`."""
        self.take = take
        self._reading.join()

    def handle_connect(self, event: object) -> None:
        """Make the fast path known to the application."""
        super().handle_connect(event)  # type: ignore[arg-type]
        if not self.handshake_complete:  # it was not refused at once
            cast("dict[str, object]", self.scope["extensions"])[EXTENSION] = self

    async def send(self, message: ASGISendEvent) -> None:
        """ASGI's way out. A refusal, or a client that leaves as it is let in, ends the handshake as well:
        uvicorn knows nothing of it, and would log an error for each."""
        await super().send(message)
        self.handshake_complete = self.handshake_complete or message["type"] in _DECIDED

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        self._heard = True
        if self._rest:
            self._rest += data
        elif len(data) <= PIECE_BYTES:
            self._take_piece(data)
        else:
            self._rest = data
            self._take_rest()

    def _take_rest(self) -> None:
        """Take in a piece of what came: thousands of frames may be in what the kernel hands over at once."""
        piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
        self._take_piece(piece)
        if self.transport.is_closing():
            self._rest = b""
        elif self._rest:
            self.transport.pause_reading()
            self.loop.call_soon(self._take_rest)
        elif not self.read_paused:
            self.transport.resume_reading()

    def _take_piece(self, data: bytes) -> None:
        self._turn_left = TURN_MESSAGES
        if self.take is not None and len(data) <= self.config.ws_max_size:
            begin = self._take_whole(data)
            if begin == len(data):
                return
            data = data[begin:]
        self._between = False
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_complete:
            self._refuse_head(self.conn.handshake_exc)

    def _refuse_head(self, error: Exception) -> None:
        """End a handshake that websockets cannot read (a line over 8 kB, over 128 of them, a body): it says
        nothing of that, and uvicorn would keep the connection for as long as the client does.
        """
        told = f"the handshake cannot be read: {error.__cause__ or error}"[:200].encode()
        head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}Content-Length: {len(told)}\r\n\r\n".encode() + told)
        self.transport.close()

    def send_keepalive_ping(self) -> None:
        """Ask whether the client is still there."""
        self._heard = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """Give up a client that is silent; the answer of one that sends much may stand behind all of that.
        Where this process stood still, what came meanwhile is read first."""
        overslept_s = self.loop.time() - self.ping_sent_at - (self.ping_timeout or 0.0)
        if self._heard or self._rest or overslept_s > OVERSLEPT_S:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
        else:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006, "reason": SILENT})
            super().keepalive_timeout()
            # one that does not read would keep the connection, and its call, until TCP gives it up
            self.loop.call_later(CLOSE_S, self.transport.abort)

    def handle_ping(self) -> None:
        """Answer, and a client that does not read when it does again: the newest alone, the others would pile
        up (RFC 6455, section 5.5.3).
        """
        if self.writable.is_set():
            super().handle_ping()
        else:
            del self.conn.writes[:-1]

    def resume_writing(self) -> None:
        """The client reads again: it may wait for the answer to a ping, and give us up without."""
        super().resume_writing()
        if self.conn.writes and not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()))

    def handle_cont(self, event: Frame) -> None:
        """Take a part of a message, unless its parts are too many: empty ones count for nothing else."""
        if len(self.frames) >= MAX_FRAGMENTS:
            self._refuse(1009, f"more than {MAX_FRAGMENTS} fragments")
            return
        super().handle_cont(event)

    def handle_parser_exception(self) -> None:
        """Close a connection that breaks the protocol; one that was not yet let in has nothing to be told."""
        if self.conn.close_sent is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006})
            self.transport.close()
        else:
            super().handle_parser_exception()

    def send_receive_event_to_app(self) -> None:
        """Queue a whole message; one that is no UTF-8 closes the connection, without a traceback."""
        if self.curr_msg_data_type == "text":
            try:
                b"".join(self.frames).decode()
            except UnicodeDecodeError:
                self._refuse(1007, "the text is not UTF-8")
                return
        super().send_receive_event_to_app()

    def _refuse(self, code: int, reason: str) -> None:
        self.frames = []
        if self.conn.state is _OPEN:
            self.conn.send_close(code, reason)
            self.handle_parser_exception()

    def _take_whole(self, data: bytes) -> int:
        """Hand over the whole messages that `data` begins with, while nothing waits before them. Gives where
        the rest begins, which websockets has to parse.
        """
        begin, size = 0, len(data)
        # asked once: while messages are handed over nothing is queued, and nothing closes the connection
        if not self.queue.empty() or self.conn.state is not _OPEN:
            return 0
        while begin < size and (take := self.take) is not None and self._turn_left > 0:
            whole = whole_text(data, begin)
            if whole is None or not (self._between or between_messages(self.conn)):
                break
            self._between = True
            payload, end = whole
            try:
                text = payload.decode()
            except UnicodeDecodeError:
                break  # websockets finds the same, and closes the connection
            begin = end
            self._turn_left -= 1 + len(text) // LONG_BYTES
            take(text)
        return begin

    def handle_text(self, event: Frame) -> None:
        """Hand a whole message over, unless others wait before it."""
        if self.take is None or not event.fin or self._turn_left <= 0 or not self.queue.empty():
            super().handle_text(event)
            return
        try:
            text = bytes(event.data).decode()
        except UnicodeDecodeError:
            super().handle_text(event)  # closes the connection
            return
        self._turn_left -= 1 + len(text) // LONG_BYTES
        self.take(text)

    def send_now(self, message: str | bytes) -> bool:
        """Send a message at once; False where it would have to wait, or nobody is there any more."""
        if not self.writable.is_set() or self.conn.state is not _OPEN or self.transport.is_closing():
            return False
        self.transport.write(server_frame(message))
        return True


def whole_text(data: bytes, begin: int) -> tuple[bytes, int] | None:
    """What a client's text message says that begins there, in UTF-8, and where it ends; None where it is not
    all there, in one frame (RFC 6455, section 5.2).
    """
    if len(data) < begin + _HEAD or data[begin] != _WHOLE_TEXT or data[begin + 1] < _MASKED:
        return None
    length, mask_at = data[begin + 1] - _MASKED, begin + 2
    if length == _LENGTH_IN_2_BYTES:
        mask_at = begin + 4
        length = int.from_bytes(data[begin + 2 : mask_at])
    elif length == _LENGTH_IN_8_BYTES:
        mask_at = begin + 10
        length = int.from_bytes(data[begin + 2 : mask_at])
    said_at = mask_at + _MASK
    end = said_at + length
    return (apply_mask(data[said_at:end], data[mask_at:said_at]), end) if end <= len(data) else None


def server_frame(message: str | bytes) -> bytes:
    """A message as a server sends it, in one frame and unmasked (RFC 6455, section 5.2)."""
    opcode, data = (_WHOLE_TEXT, message.encode()) if isinstance(message, str) else (_WHOLE_BINARY, message)
    length = len(data)
    if length < _LENGTH_IN_2_BYTES:
        return bytes((opcode, length)) + data
    if length < 65_536:
        return bytes((opcode, _LENGTH_IN_2_BYTES)) + length.to_bytes(2) + data
    return bytes((opcode, _LENGTH_IN_8_BYTES)) + length.to_bytes(8) + data


def between_messages(protocol: Protocol) -> bool:
    """Whether the next byte is a message's first: the parser, a generator, waits for a frame or the end of
    the stream, and no message is half there.
    """
    waits_in: Any = protocol.parser
    while (inner := waits_in.gi_yieldfrom) is not None:
        waits_in = inner
    idle = waits_in.gi_code.co_name == "at_eof" and not protocol.reader.buffer
    return idle and protocol.current_size is None
