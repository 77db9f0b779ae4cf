"""AudioSocket, Asterisk's audio over TCP: one byte of kind, two of length (big-endian), then the body.

   https://docs.asterisk.org/Configuration/Channel-Drivers/AudioSocket. Audio is 16-bit linear at 8 kHz,
little-endian; the sender paces it. The protocol can neither clear sent audio nor report playout.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Never, cast
from uuid import UUID

import numpy as np
import structlog
from pydantic import Field

from audio.pcm import AudioFormat, Samples
from audio.pcm import encode as encode_sound
from voiceagent.session.call import CallRefused, OpenCall, new_id
from voiceagent.transports.connection import Connection, Disconnected
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.reading_rounds import RoundTransport, reading_of
from voiceagent.transports.sockets import listen
from voiceagent.transports.telephony.phone_call import LineOptions, PhoneCall
from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.provider import no_control
from voiceagent.transports.telephony.stream.json_messages import wrong
from voiceagent.transports.telephony.stream.serializer import (
    DIGITS,
    KeyPressed,
    Media,
    Message,
    PhoneEvent,
    ProtocolError,
    Started,
    Stopped,
    Unknown,
)
from voiceagent.validation.section import Section

FORMAT = AudioFormat.PCM_8K
HEAD_BYTES = 3
HANG_UP, IDENTITY, DTMF, SOUND, ERROR = 0x00, 0x01, 0x03, 0x10, 0xFF
OTHER_SOUND = range(0x11, 0x19)
"""Kinds of audio at 12 to 192 kHz, which Asterisk sends where a channel was dialled with such a codec."""


class AudioSocketSerializer:
    """Serializer of one connection. Messages are whole: head and body."""

    def __init__(self) -> None:
        self._started = False

    def decode(self, message: Message) -> PhoneEvent | None:
        """Return the event in a message, None for messages before the call's UUID. Raise ProtocolError."""
        assert isinstance(message, bytes)  # AudioSocket has no text
        kind, body = message[0], message[HEAD_BYTES:]
        if kind == IDENTITY:
            return self._start(body)
        if kind == HANG_UP:
            return Stopped("the caller hung up")
        if not self._started:
            return None
        match kind:
            case _ if kind == SOUND:
                return Media(body)
            case _ if kind == DTMF:
                return _key(body)
            case _ if kind == ERROR:
                raise ProtocolError(f"Asterisk reports error {body.hex() or 'without a code'}")
            case _ if kind in OTHER_SOUND:
                allowed = "0x10, 16-bit linear at 8 kHz (codec slin)"
                raise ProtocolError(f"audio has the kind {kind:#04x}; allowed: {allowed}")
            case _:
                return Unknown(f"{kind:#04x}")

    def media(self, frame: Samples) -> bytes:
        """Return a frame of the agent's audio as a message."""
        return _message(SOUND, encode_sound(frame, FORMAT))

    def mark(self, name: str) -> None:
        """Return None: AudioSocket has no marks, so playout is estimated from the clock."""

    def clear(self) -> None:
        """Return None: sent audio cannot be dropped. It is never more than 60 ms."""

    def hang_up(self) -> bytes:
        """Return the hang-up message. Asterisk then hangs up or continues in the dialplan."""
        return _message(HANG_UP, b"")

    def _start(self, body: bytes) -> Started:
        if self._started:
            raise ProtocolError("a second UUID came; a call has one")
        if len(body) != 16:
            raise ProtocolError(f"the UUID has {len(body)} bytes; allowed: 16")
        self._started = True
        return Started(str(UUID(bytes=body)), FORMAT, FORMAT)


def _key(body: bytes) -> KeyPressed:
    digit = body.decode("ascii", "replace").upper()
    if digit not in DIGITS:
        raise wrong("digit", digit, f"one of {''.join(DIGITS)}")
    return KeyPressed(digit)


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + len(body).to_bytes(2, "big") + body


log = structlog.get_logger()

MAX_UNSENT_BYTES = 65_536
"""Unsent bytes of a connection before its call's queue fills: about four seconds."""
QUIET_S = 0.5
"""A frame of silence is sent after so long without agent audio. Asterisk ends a call in which neither side
sends for 2 s (app_audiosocket.c), which happens when the phone suppresses silence.
"""
_SILENCE: Samples = np.zeros(FORMAT.rate_hz // 50, np.int16)
_Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class AudioSocketConfig(Section):
    """`[telephony.audiosocket]`: Asterisk's AudioSocket, over TCP."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = Field(default=9092, ge=0, le=65_535)
    """TCP port. 0 takes a free port. AudioSocket has no authentication."""


@asynccontextmanager
async def audiosocket(
    table: AudioSocketConfig | None, tools: bool, open_call: OpenCall, limits: TransportLimits = USUAL_LIMITS
) -> AsyncIterator[int | None]:
    """Accept AudioSocket calls during the block, if there is a table. Yield the port, None without a table.

       tools: let the model hang up. limits: of each call. The caller must end calls that still run at the end
    of the block. Raise CommandFailed.
    """
    if table is None:
        yield None
        return
    listening = listen_for_audiosocket(table)
    endpoint = AudioSocketEndpoint(tools, open_call, limits)
    server = await asyncio.get_running_loop().create_server(endpoint.protocol, sock=listening)
    try:
        yield listening.getsockname()[1]
    finally:
        server.close()


def listen_for_audiosocket(table: AudioSocketConfig) -> socket.socket:
    """Return the listening socket for AudioSocket. Raise CommandFailed."""
    return listen(table.host, table.port, " for AudioSocket")


class AudioSocketEndpoint:
    """Server of AudioSocket calls. tools: let the model hang up. limits: of each call."""

    def __init__(self, tools: bool, open_call: OpenCall, limits: TransportLimits = USUAL_LIMITS) -> None:
        self._options = LineOptions(
            "audiosocket", no_control, {}, tools, limits.max_dtmf_digits, inband_keys=True
        )
        self._open_call = open_call
        self._limits = limits

    async def take(self, connection: socket.socket) -> None:
        """Serve a connection that another process accepted."""
        await asyncio.get_running_loop().connect_accepted_socket(self.protocol, connection)

    def protocol(self) -> asyncio.Protocol:
        return _ReadInRounds(self.serve)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to the end of its call."""
        call_id = new_id("call")
        serializer = AudioSocketSerializer()
        client = PhoneClient(call_id, serializer)
        try:
            call = self._open_call(call_id, client, "")
        except CallRefused as refused:
            log.warning("call_refused", provider="audiosocket", reason=str(refused))
            writer.write(serializer.hang_up())
            writer.close()
            return
        try:
            wire, limits = _TcpWire(reader, writer), self._limits
            connection = Connection(wire, client.outbox, call, 1000, limits, limits.max_phone_idle_s)
            phone_call = PhoneCall(call_id, call, client, self._options, {}, connection.end)
            await connection.run(phone_call, _send_silence(client))
        finally:
            writer.close()


async def _send_silence(client: PhoneClient) -> Never:
    seen = client.frames
    while True:
        await asyncio.sleep(QUIET_S)
        if client.frames == seen:
            client.fill(_SILENCE)
        seen = client.frames


class _ReadInRounds(asyncio.StreamReaderProtocol):
    """A connection as two streams; read together with others while calls are many."""

    def __init__(self, serve: _Serve) -> None:
        super().__init__(asyncio.StreamReader(), serve)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)
        transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
        rounds = reading_of(asyncio.get_running_loop())
        self._reading = RoundTransport(transport, self.data_received, rounds)
        super().connection_made(self._reading)
        self._reading.join()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reading.lost()
        super().connection_lost(exc)


class _TcpWire:
    """A TCP connection as a `Wire`."""

    paces = True

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def open(self) -> None:
        """Do nothing: the connection is open."""

    async def receive(self) -> bytes:
        try:
            head = await self._reader.readexactly(HEAD_BYTES)
            return head + await self._reader.readexactly(int.from_bytes(head[1:], "big"))
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Disconnected("the client left") from error

    async def send(self, message: Message) -> None:
        assert isinstance(message, bytes)  # the serializer produces no text
        if self._writer.is_closing():  # uvloop raises RuntimeError for a write to a closed transport
            raise Disconnected("the client left")
        try:
            self._writer.write(message)
            await self._writer.drain()
        except OSError as error:
            raise Disconnected("the client left") from error

    def open_fast_path(self, take: Callable[[Message], None]) -> None:
        """Do nothing: TCP has no fast path."""

    def close_fast_path(self) -> None:
        """Do nothing: TCP has no fast path."""

    async def close(self, code: int, reason: str) -> None:
        self._writer.close()
