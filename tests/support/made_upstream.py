"""A server of the Realtime API that does what the test says, as OpenAI's does by its documentation."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

import numpy as np
from pybase64 import b64encode_as_string
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

SOUND_S = 0.2
"""Length of one piece of a response's sound."""


@dataclass
class MadeServer:
    """A WebSocket server of events. refusals: status and body of the next handshakes. received: the events of
    each connection. answers: what to do with each event.
    """

    answers: Callable[[Any, dict[str, Any]], None] = lambda upstream, event: None
    refusals: list[tuple[HTTPStatus, str]] = field(default_factory=list)
    received: list[list[dict[str, Any]]] = field(default_factory=list)
    handshakes: list[tuple[str, str | None]] = field(default_factory=list)
    url: str = ""
    _to_send: asyncio.Queue[dict[str, Any] | None] = field(default_factory=asyncio.Queue)
    _happened: asyncio.Event = field(default_factory=asyncio.Event)
    _made: int = 0

    def lose(self) -> None:
        """The connection is lost behind what was sent so far."""
        self._to_send.put_nowait(None)

    async def until(self, kind: str, count: int = 1) -> dict[str, Any]:
        """The event of this kind that came as the `count`th, over all connections."""
        async with asyncio.timeout(20):
            while len(found := self.of(kind)) < count:
                self._happened.clear()
                await self._happened.wait()
        return found[count - 1]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """All events of a kind that came."""
        return [event for events in self.received for event in events if event["type"] == kind]

    async def serve_events(self, connection: ServerConnection) -> None:
        """Serve one connection."""
        raise NotImplementedError

    async def _send_all(self, connection: ServerConnection) -> None:
        try:
            while (event := await self._to_send.get()) is not None:
                await connection.send(json.dumps(event))
            connection.transport.abort()
        except ConnectionClosed:
            pass

    def refuse(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the next refusal of a handshake, None for none."""
        if not self.refusals:
            return None
        self.handshakes.append((request.path, request.headers.get("Authorization")))
        return connection.respond(*self.refusals.pop(0))


@dataclass
class MadeUpstream(MadeServer):
    """A server of the Realtime API. answers: what to do with an event: `say`, `call`, `lose`, or nothing."""

    _connection: ServerConnection | None = None
    _hung: asyncio.Transport | None = None

    def send(self, kind: str, **fields: Any) -> None:
        """Send an event."""
        self._to_send.put_nowait({"type": kind, "event_id": "event_1", **fields})

    def hang(self) -> None:
        """It reads nothing any more, nor answers pings, until it is woken."""
        assert self._connection is not None
        self._hung = self._connection.transport
        self._hung.pause_reading()

    def wake(self) -> None:
        """It reads on."""
        assert self._hung is not None
        self._hung.resume_reading()

    def say(self, text: str, pieces: int = 2, done: bool = True) -> str:
        """A response with these words and so many pieces of sound; its item's id."""
        self._made += 1
        response_id, item_id = f"resp_{self._made}", f"item_said_{self._made}"
        place = {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
        item = {"id": item_id, "type": "message", "role": "assistant", "content": []}
        self.send("response.created", response=response(response_id, "in_progress"))
        self.send("response.output_item.added", response_id=response_id, output_index=0, item=item)
        self.send("conversation.item.added", previous_item_id=None, item=item)
        self.send("response.output_audio_transcript.delta", **place, delta=text)
        for _ in range(pieces):
            self.send("response.output_audio.delta", **place, delta=TONE)
        if done:
            self.send("response.output_item.done", response_id=response_id, output_index=0, item=item)
            self.send("response.done", response=response(response_id, "completed"))
        return item_id

    def call(self, name: str, arguments: str) -> None:
        """A response that calls a function."""
        self._made += 1
        response_id = f"resp_{self._made}"
        item = {
            "id": f"item_call_{self._made}",
            "type": "function_call",
            "name": name,
            "call_id": f"call_{self._made}",
            "arguments": arguments,
            "status": "completed",
        }
        self.send("response.created", response=response(response_id, "in_progress"))
        self.send("response.output_item.done", response_id=response_id, output_index=0, item=item)
        self.send("response.done", response=response(response_id, "completed"))

    def hears(self, text: str, item_id: str = "item_heard") -> None:
        """The caller has said this."""
        self.send("input_audio_buffer.speech_started", item_id=item_id, audio_start_ms=100)
        self.send("input_audio_buffer.speech_stopped", item_id=item_id, audio_end_ms=900)
        self.send("input_audio_buffer.committed", item_id=item_id, previous_item_id=None)
        content = [{"type": "input_audio", "transcript": None}]
        item = {"id": item_id, "type": "message", "role": "user", "status": "completed", "content": content}
        self.send("conversation.item.added", previous_item_id=None, item=item)
        self.send("conversation.item.done", previous_item_id=None, item=item)
        kind = "conversation.item.input_audio_transcription.completed"
        self.send(kind, item_id=item_id, content_index=0, transcript=text)

    # ---- what is common to both APIs

    async def until_ready(self) -> dict[str, Any]:
        """The settings of a session that has started: instructions, names of tools, voice."""
        session = (await self.until("session.update"))["session"]
        return {
            "instructions": session["instructions"],
            "tools": [tool["name"] for tool in session["tools"]],
            "voice": session["audio"]["output"]["voice"],
        }

    async def until_result(self) -> dict[str, Any]:
        """The result of a function."""
        return dict((await self.until("conversation.item.create"))["item"])

    async def until_asked(self) -> str:
        """The request for the words about a result."""
        return str((await self.until("response.create"))["type"])

    def history_of(self, connection: int) -> list[tuple[str, str]]:
        """Return the history that a connection was given: roles and texts."""
        created = [event["item"] for event in self.received[connection][1:] if "item" in event]
        return [(item["role"], item["content"][0]["text"]) for item in created]

    def fail(self, code: str, message: str) -> None:
        """An error, of no event of the client."""
        error = {"type": "rate_limit_error", "code": code, "message": message, "param": None}
        self.send("error", error=error)

    async def serve_events(self, connection: ServerConnection) -> None:
        """See `MadeServer`."""
        request = connection.request
        assert request is not None
        self._connection = connection
        self.handshakes.append((request.path, request.headers.get("Authorization")))
        received: list[dict[str, Any]] = []
        self.received.append(received)
        self._to_send = asyncio.Queue()
        self.send("session.created", session={"type": "realtime", "id": "sess_1"})
        sending = asyncio.create_task(self._send_all(connection))
        try:
            async for message in connection:
                event = json.loads(message)
                received.append(event)
                self._happened.set()
                self.answers(self, event)
        finally:
            sending.cancel()


TONE = b64encode_as_string(np.full(round(SOUND_S * 24_000), 5_000, "<i2").tobytes())


def response(response_id: str, status: str) -> dict[str, Any]:
    """A response object."""
    usage = {"input_tokens": 30, "output_tokens": 12, "input_token_details": {"cached_tokens": 10}}
    return {
        "id": response_id,
        "object": "realtime.response",
        "status": status,
        "status_details": None,
        "output_modalities": ["audio"],
        "usage": usage if status == "completed" else None,
    }


Made = TypeVar("Made", bound=MadeServer)


@asynccontextmanager
async def upstream_serving(upstream: Made) -> AsyncIterator[Made]:
    """It, at `upstream.url`."""
    async with serve(upstream.serve_events, "127.0.0.1", 0, process_request=upstream.refuse) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        upstream.url = f"ws://127.0.0.1:{port}/v1"
        yield upstream
