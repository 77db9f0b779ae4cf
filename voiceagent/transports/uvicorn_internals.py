"""Fast path through uvicorn for the 100 messages a second of each call.

Through ASGI a message costs two system calls (reading is paused and resumed), a queue and a task switch. On
the fast path a text message is delivered in the callback that read it, and sent in the call that made it.
ASGI's own path stays available, and in order, for everything else.

Received data is nearly always whole text messages: one, or a few if the server is late. These are unmasked
here, because websockets' parser, which accepts data byte by byte, costs as much as all further processing of
the audio.
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
except ImportError:  # no wheel for this machine
    from websockets.utils import apply_mask

EXTENSION = "voiceagent.transports.uvicorn_internals"
"""Name of the extension in the ASGI scope."""

PIECE_BYTES = 16_384
"""Bytes that websockets parses before other connections run: up to 2,700 frames."""
SILENT = "the client answered no ping: it stands still, or its network does"
CLOSE_S = 1.0
"""Time for a dropped client to read the reason."""
STALL_S = 1.0
"""A timer later than this means that this process was stalled."""
MAX_FRAGMENTS = 1_024
"""Maximum number of fragments of one message."""

_DECIDED = ("websocket.accept", "websocket.http.response.body")
"""ASGI messages that end a handshake."""
_HEAD = 6  # bytes before a short payload: FIN and opcode, mask bit and length, mask
_WHOLE_TEXT = 0x81
_WHOLE_BINARY = 0x82
_MASKED = 0x80
_LENGTH_IN_2_BYTES = 126
_LENGTH_IN_8_BYTES = 127
_MASK = 4
_OPEN = State.OPEN  # Python 3.11 looks an attribute of an Enum up by a function, which shows per frame


class FastPath(WebSocketsSansIOProtocol):
    """uvicorn's WebSocket protocol with a fast path, for `uvicorn.Config(ws=FastPath)`."""

    take: Callable[[str], None] | None = None
    """Receives each text message instead of ASGI's `receive`; must not raise. None: fast path closed."""
    _turn_left = 0
    _rest = b""  # received data for the next iteration of the event loop
    _heard = False  # any data since the last ping
    _between = False  # the parser is at a message boundary

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wrap the transport, so that it can join the reading ticks once the fast path is open."""
        rounds = reading_of(self.loop)
        self._reading = RoundTransport(cast("asyncio.Transport", transport), self.data_received, rounds)
        super().connection_made(self._reading)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave the reading ticks. Report a connection that ended without a close frame by its own code (RFC
        6455, 7.1.5): uvicorn does not distinguish it from a close frame without a code.
        """
        self._reading.lost()
        if self.conn.close_rcvd is None and self.conn.close_sent is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006})
        super().connection_lost(exc)

    def open(self, take: Callable[[str], None]) -> None:
        """Deliver text messages to `take` from now on."""
        self.take = take
        self._reading.join()

    def handle_connect(self, event: object) -> None:
        """Offer the fast path to the application in the ASGI scope."""
        super().handle_connect(event)  # type: ignore[arg-type]
        if not self.handshake_complete:  # it was not refused immediately
            cast("dict[str, object]", self.scope["extensions"])[EXTENSION] = self

    async def send(self, message: ASGISendEvent) -> None:
        """Send an ASGI message. Marks the handshake as complete also for a refusal, or a client that leaves
        during the handshake: uvicorn does not, and would log an error for each.
        """
        await super().send(message)
        self.handshake_complete = self.handshake_complete or message["type"] in _DECIDED

    def data_received(self, data: bytes) -> None:
        self._heard = True
        if self._rest:
            self._rest += data
        elif rest := self._take_turn(data):
            self._take_later(rest)

    def _take_rest(self) -> None:
        """Process the next part of the data that was too much for one turn."""
        data, self._rest = self._rest, b""
        rest = self._take_turn(data)
        if self.transport.is_closing():
            return
        if rest:
            self._take_later(rest)
        elif not self.read_paused:
            self.transport.resume_reading()

    def _take_later(self, rest: bytes) -> None:
        """Process `rest` after other connections have run, and read no more until then."""
        if not self.transport.is_closing():
            self._rest = rest
            self.transport.pause_reading()
            self.loop.call_soon(self._take_rest)

    def _take_turn(self, data: bytes) -> bytes:
        """Process the start of `data`: one connection's turn. Return the rest."""
        self._turn_left = TURN_MESSAGES
        if self.take is not None:
            begin = self._take_whole(data)
            if begin == len(data):
                return b""
            data = data[begin:]
            # A late server finds more than a turn's messages. The rest waits here, as websockets' parser and
            # ASGI's queue would cost several times as much, at the worst moment.
            if self.take is not None and self._turn_left <= 0:
                return data
        self._between = False
        piece, rest = data[:PIECE_BYTES], data[PIECE_BYTES:]
        super().data_received(piece)
        if self.conn.handshake_exc is not None and not self.handshake_complete:
            self._refuse_head(self.conn.handshake_exc)
        return rest

    def _refuse_head(self, error: Exception) -> None:
        """Answer 400 to a handshake that websockets cannot parse (a line over 8 kB, over 128 lines, a body).
        It reports no error itself, and uvicorn would keep the connection until the client closes it.
        """
        body = f"the handshake cannot be read: {error.__cause__ or error}"[:200].encode()
        head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n"
        self.transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.transport.close()

    def send_keepalive_ping(self) -> None:
        self._heard = False
        super().send_keepalive_ping()

    def keepalive_timeout(self) -> None:
        """Drop a silent client. Any data since the ping counts as an answer, because the pong may be queued
        after much data. After a stall of this process, read first what has arrived meanwhile.
        """
        overslept_s = self.loop.time() - self.ping_sent_at - (self.ping_timeout or 0.0)
        if self._heard or self._rest or overslept_s > STALL_S:
            self.pong_timer = self.pending_ping_payload = None
            self.schedule_ping()
        else:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006, "reason": SILENT})
            super().keepalive_timeout()
            # otherwise a client that does not read would keep its call until TCP times out
            self.loop.call_later(CLOSE_S, self.transport.abort)

    def handle_ping(self) -> None:
        """Answer a ping. While the client does not read, keep only the newest pong, as they would pile up
        (RFC 6455, section 5.5.3).
        """
        if self.writable.is_set():
            super().handle_ping()
        else:
            del self.conn.writes[:-1]

    def resume_writing(self) -> None:
        """Flush the pending pong: without it the client may drop the connection."""
        super().resume_writing()
        if self.conn.writes and not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()))

    def handle_cont(self, event: Frame) -> None:
        """Add a fragment, up to `MAX_FRAGMENTS`: empty fragments count against no other limit."""
        if len(self.frames) >= MAX_FRAGMENTS:
            self._refuse(1009, f"more than {MAX_FRAGMENTS} fragments")
            return
        super().handle_cont(event)

    def handle_parser_exception(self) -> None:
        """Close a connection that violates the protocol; before the handshake's end, without a frame."""
        if self.conn.close_sent is None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": 1006})
            self.transport.close()
        else:
            super().handle_parser_exception()

    def send_receive_event_to_app(self) -> None:
        """Queue a whole message. Invalid UTF-8 closes the connection, without a traceback."""
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
        """Deliver the whole messages at the start of `data`, unless earlier ones are queued. Return the
        offset of the rest, which websockets must parse.
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
            if len(payload) > self.config.ws_max_size:
                break  # websockets will refuse it and close the connection
            try:
                text = payload.decode()
            except UnicodeDecodeError:
                break  # websockets will find the same error and close the connection
            begin = end
            self._turn_left -= 1 + len(text) // LONG_BYTES
            take(text)
        return begin

    def handle_text(self, event: Frame) -> None:
        """Deliver a whole message at once, or queue it: after earlier queued ones, and once this turn of the
        event loop has had its share of messages.
        """
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
        """Send a message immediately. Return False if it would have to wait or the connection is closed."""
        if not self.writable.is_set() or self.conn.state is not _OPEN or self.transport.is_closing():
            return False
        self.transport.write(server_frame(message))
        return True


def whole_text(data: bytes, begin: int) -> tuple[bytes, int] | None:
    """Return the payload (UTF-8) of the client's text message at `begin`, and its end; None unless it is
    complete and in one frame (RFC 6455, section 5.2).
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
    """Return a message as a server's frame: one frame, unmasked (RFC 6455, section 5.2)."""
    opcode, data = (_WHOLE_TEXT, message.encode()) if isinstance(message, str) else (_WHOLE_BINARY, message)
    length = len(data)
    if length < _LENGTH_IN_2_BYTES:
        return bytes((opcode, length)) + data
    if length < 65_536:
        return bytes((opcode, _LENGTH_IN_2_BYTES)) + length.to_bytes(2) + data
    return bytes((opcode, _LENGTH_IN_8_BYTES)) + length.to_bytes(8) + data


def between_messages(protocol: Protocol) -> bool:
    """Return True at a message boundary: the parser, a generator, waits for a frame or the end of the stream,
    and no fragmented message is open.
    """
    waits_in: Any = protocol.parser
    while (inner := waits_in.gi_yieldfrom) is not None:
        waits_in = inner
    idle = waits_in.gi_code.co_name == "at_eof" and not protocol.reader.buffer
    return idle and protocol.current_size is None
