"""Messages that take the faster path through uvicorn, and those that cannot."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from library_parts import assert_parts
from prompt_server import PromptServer
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket
from uvicorn.server import ServerState
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol
from websockets.uri import parse_uri

from voiceagent.transports import uvicorn_internals as fast_path
from voiceagent.transports.uvicorn_internals import EXTENSION, between_messages, server_frame, whole_text

TEXTS = st.text(max_size=300) | st.integers(100, 70_000).map("x".__mul__)


def message(text: str) -> bytes:
    """A client's text message on the wire."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=True)


@given(st.lists(TEXTS, max_size=4), st.binary(max_size=20))
def test_whole_messages_say_what_was_sent_one_after_the_other(texts: list[str], more: bytes) -> None:
    wire = b"".join(map(message, texts)) + more
    begin = 0
    for text in texts:
        whole = whole_text(wire, begin)
        assert whole is not None
        said, begin = whole
        assert said == text.encode()
    assert wire[begin:] == more


@given(TEXTS, TEXTS, st.data())
def test_a_part_of_a_message_is_no_whole_one(before: str, text: str, data: st.DataObject) -> None:
    begin, wire = len(message(before)), message(before) + message(text)
    assert whole_text(wire[: data.draw(st.integers(begin, len(wire) - 1))], begin) is None


@pytest.mark.parametrize(
    "frame",
    [
        Frame(Opcode.BINARY, b"sound"),
        Frame(Opcode.PING, b"there?"),
        Frame(Opcode.CLOSE, b""),
        Frame(Opcode.CONT, b"the rest"),
        Frame(Opcode.TEXT, b"the first half", fin=False),
    ],
)
def test_what_is_no_whole_text_is_none(frame: Frame) -> None:
    assert whole_text(frame.serialize(mask=True), 0) is None


def test_what_is_compressed_is_no_whole_text() -> None:
    first, *rest = message("compressed")
    assert whole_text(bytes([first | 0x40, *rest]), 0) is None


def test_what_is_not_masked_is_no_whole_text() -> None:
    assert whole_text(Frame(Opcode.TEXT, b"from a server").serialize(mask=False), 0) is None


@given(TEXTS | st.binary(max_size=300) | st.integers(100, 70_000).map(bytes))
def test_a_server_writes_frames_as_websockets_does(said: str | bytes) -> None:
    frame = Frame(Opcode.TEXT, said.encode()) if isinstance(said, str) else Frame(Opcode.BINARY, said)
    assert server_frame(said) == frame.serialize(mask=False)


class Peer:
    """A client that chooses where its bytes are cut. texts: what the server took, in order."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.got: list[Frame] = []

    async def _serve(self, websocket: WebSocket) -> None:
        websocket.scope["extensions"][EXTENSION].take = self.texts.append
        await websocket.accept()
        while (received := await websocket.receive())["type"] == "websocket.receive":
            self.texts.append(received["text"])

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Serve, and connect, for the length of the block."""
        listening = socket.create_server(("127.0.0.1", 0))
        app = Starlette(routes=[WebSocketRoute("/", self._serve)])
        config = uvicorn.Config(app, ws=fast_path.FastPath, lifespan="off", log_level="critical")
        server = PromptServer(config)
        serving = asyncio.create_task(server.serve([listening]))
        port = listening.getsockname()[1]
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        self._protocol = ClientProtocol(parse_uri(f"ws://127.0.0.1:{port}/"))
        self._protocol.send_request(self._protocol.connect())
        await self.send(*self._protocol.data_to_send())
        self._protocol.receive_data(await self._reader.readuntil(b"\r\n\r\n"))
        self._protocol.events_received()
        reading = asyncio.create_task(self._read())
        try:
            yield
        finally:
            self._writer.close()
            server.should_exit = True
            await asyncio.gather(serving, reading)

    async def _read(self) -> None:
        while data := await self._reader.read(65_536):
            self._protocol.receive_data(data)
            self.got += [event for event in self._protocol.events_received() if isinstance(event, Frame)]

    async def send(self, *pieces: bytes) -> None:
        """Send each piece so that it is read alone."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()
            await asyncio.sleep(0.005)

    async def took(self, count: int) -> list[str]:
        """Return what the server received, once it is so much."""
        async with asyncio.timeout(5):
            while len(self.texts) < count:  # noqa: ASYNC110  the server tells no end
                await asyncio.sleep(0.005)
        return self.texts

    async def closed(self, code: int) -> None:
        """Wait until the server has closed the connection, and see that it did so with this code."""
        async with asyncio.timeout(5):
            while not self.got or self.got[-1].opcode is not Opcode.CLOSE:  # noqa: ASYNC110  as above
                await asyncio.sleep(0.005)
        assert int.from_bytes(self.got[-1].data[:2], "big") == code


@pytest.fixture(name="found")
def what_was_found(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the messages that the fast path found complete."""
    found: list[bytes] = []

    def noted(data: bytes, begin: int) -> tuple[bytes, int] | None:
        if whole := whole_text(data, begin):
            found.append(whole[0])
        return whole

    monkeypatch.setattr(fast_path, "whole_text", noted)
    return found


async def test_whole_messages_are_taken_where_they_are_read(found: list[bytes]) -> None:
    peer = Peer()
    async with peer.connected():
        await peer.send(*(message(f"message {number}") for number in range(5)))
        assert await peer.took(5) == [f"message {number}" for number in range(5)]
    assert len(found) == 5


async def test_whole_messages_that_come_together_are_taken_where_they_are_read(found: list[bytes]) -> None:
    peer = Peer()
    half = message("half of it")
    async with peer.connected():
        await peer.send(b"".join(message(f"message {number}") for number in range(5)) + half[:9], half[9:])
        assert await peer.took(6) == [*(f"message {number}" for number in range(5)), "half of it"]
    assert len(found) == 5


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 6, 7, 8, 50, 207])
async def test_a_message_in_pieces_is_taken_once_and_in_order(cut: int) -> None:
    """Wherever it is cut: within its head, behind it, one byte before its end."""
    whole = message("x" * 200)
    peer = Peer()
    async with peer.connected():
        await peer.send(message("before"), whole[:cut], whole[cut:], message("after"))
        assert await peer.took(3) == ["before", "x" * 200, "after"]


async def test_bytes_inside_a_message_are_no_message() -> None:
    inner = message("a trick")
    head = bytes([0x81, 0x80 | 126]) + (len(inner) + 4).to_bytes(2, "big") + bytes(4)  # a mask of zeros
    peer = Peer()
    async with peer.connected():
        await peer.send(message("before"), head + b"say ", inner)
        await peer.closed(1007)  # together they are no UTF-8
    assert peer.texts == ["before"]


async def test_a_message_in_fragments_is_whole_before_the_next() -> None:
    peer = Peer()
    first, last = Frame(Opcode.TEXT, b"one ", fin=False), Frame(Opcode.CONT, b"message")
    async with peer.connected():
        await peer.send(message("before"), first.serialize(mask=True), last.serialize(mask=True))
        await peer.send(message("after"))
        assert await peer.took(3) == ["before", "one message", "after"]


async def test_several_messages_read_at_once_are_taken_in_order() -> None:
    peer = Peer()
    texts = [f"{number} {os.urandom(9).hex()}" for number in range(30)]
    async with peer.connected():
        await peer.send(b"".join(map(message, texts[:20])), *map(message, texts[20:]))
        assert await peer.took(30) == texts


async def test_messages_that_a_late_server_finds_keep_to_the_fast_path(found: list[bytes]) -> None:
    peer = Peer()
    texts = [f"{number} {'x' * 300}" for number in range(100)]  # more than a turn, and than a piece
    async with peer.connected():
        await peer.send(b"".join(map(message, texts)))
        assert await peer.took(100) == texts
    assert len(found) == 100


async def test_a_long_message_behind_many_short_ones_is_taken_once_and_in_order() -> None:
    peer = Peer()
    texts = [*map(str, range(20)), "x" * 70_000, *map(str, range(20))]
    async with peer.connected():
        await peer.send(b"".join(map(message, texts)))
        assert await peer.took(41) == texts


async def test_a_ping_among_more_messages_than_a_turn_is_answered() -> None:
    peer = Peer()
    ping = Frame(Opcode.PING, b"there?").serialize(mask=True)
    async with peer.connected():
        await peer.send(b"".join(map(message, map(str, range(20)))) + ping + message("after"))
        assert await peer.took(21) == [*map(str, range(20)), "after"]
        assert [frame.opcode for frame in peer.got] == [Opcode.PONG]


async def test_a_ping_between_messages_is_answered() -> None:
    peer = Peer()
    async with peer.connected():
        await peer.send(
            message("before"), Frame(Opcode.PING, b"there?").serialize(mask=True), message("after")
        )
        assert await peer.took(2) == ["before", "after"]
        assert [(frame.opcode, bytes(frame.data)) for frame in peer.got] == [(Opcode.PONG, b"there?")]


async def test_what_is_no_utf_8_closes_the_connection() -> None:
    peer = Peer()
    async with peer.connected():
        await peer.send(Frame(Opcode.TEXT, b"\xff\xfe").serialize(mask=True))
        await peer.closed(1007)
    assert peer.texts == []


USER = "voiceagent/transports/uvicorn_internals.py"


async def test_the_parts_of_uvicorn_that_the_fast_path_goes_through_are_there() -> None:
    protocol = fast_path.FastPath(uvicorn.Config(lambda: None, ws=fast_path.FastPath), ServerState(), {})
    steps = ("handle_connect", "handle_text", "data_received")
    states = ("conn", "config", "handshake_complete", "queue", "transport", "writable")
    assert_parts("uvicorn", protocol, *steps, *states, user=USER)


PARTS = ("parser", "reader", "current_size", "state", "handshake_exc")


def test_the_parts_of_websockets_that_the_fast_path_looks_at_are_there() -> None:
    assert_parts("websockets", ServerProtocol(), *PARTS, user=USER)
    assert_parts("websockets", ServerProtocol(), "close_rcvd", "close_sent", user=USER)
    assert_parts("websockets", ServerProtocol().reader, "buffer", user=USER)


def test_a_websockets_parser_between_messages_is_known_as_such() -> None:
    """Else the fast path is never taken, and calls cost twice as much."""
    opened = ClientProtocol(parse_uri("ws://localhost/"), state=State.OPEN)
    opened.receive_data(Frame(Opcode.TEXT, b"whole").serialize(mask=False))
    assert between_messages(opened)
    opened.receive_data(Frame(Opcode.TEXT, b"half", fin=False).serialize(mask=False))
    assert not between_messages(opened)
