"""The WebSocket end on a real server of its own, with scripted calls behind it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from scripted_server import MAX_MESSAGE_BYTES, ScriptedServer
from starlette.routing import WebSocketRoute

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.access.auth import ApiKeys
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.realtime.sidebands.messages import Relay, Relayed, not_found
from voiceagent.transports.realtime.websocket import RealtimeEndpoint
from voiceagent.transports.relay import FromClient

__all__ = ["MAX_MESSAGE_BYTES", "SEND_BUFFER_BYTES", "RealtimeServer", "serving"]

SEND_BUFFER_BYTES = 65_536


async def nowhere(asked: CallAsked, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Relayed, None]:
    """Refuse: there is no other process."""
    yield not_found(asked.call_id)


class RealtimeServer(ScriptedServer):
    """A server for clients of the Realtime API. keys: None lets everyone in."""

    def __init__(self, keys: ApiKeys | None, prepare: Callable[[], dict[str, Any]]) -> None:
        super().__init__(prepare)
        self.admission = Admission(keys)

    @property
    def url(self) -> str:
        """Return the URL for WebSocket clients."""
        return f"ws://127.0.0.1:{self.port}/v1/realtime"


@asynccontextmanager
async def serving(
    keys: ApiKeys | None = None, prepare: Callable[[], dict[str, Any]] = dict, elsewhere: Relay = nowhere
) -> AsyncIterator[RealtimeServer]:
    """Run a server during the block. elsewhere: attaches to calls of other processes."""
    server = RealtimeServer(keys, prepare)
    sidebands = Sidebands(server.find, server.admission, elsewhere)
    endpoint = RealtimeEndpoint(server.open_call, server.open_transcription, server.admission, sidebands)
    async with server.serving([WebSocketRoute("/v1/realtime", endpoint.serve)], SEND_BUFFER_BYTES):
        yield server
