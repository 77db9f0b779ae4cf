"""The Live endpoint on a real server of its own, with scripted calls behind it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from live_types import proved
from realtime_server import nowhere
from scripted_server import ScriptedServer
from starlette.routing import BaseRoute
from websockets.asyncio.client import ClientConnection, connect

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.access.auth import ApiKeys
from voiceagent.transports.limits import USUAL_LIMITS
from voiceagent.transports.live.forks import Forks
from voiceagent.transports.live.http import live_routes
from voiceagent.transports.live.sessions import LiveOptions, LiveSessions, Stored
from voiceagent.transports.live.webrtc import LiveWebRtcEndpoint
from voiceagent.transports.live.websocket import LiveEndpoint
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.webrtc.calls import WebRtcCalls
from voiceagent.transports.webrtc.network import Network

SEND_BUFFER_BYTES = 65_536
PHRASE = "One moment."


class LiveServer(ScriptedServer):
    """A server for clients of the Live API. keys: None lets everyone in. keeps_calls: see `LiveOptions`."""

    def __init__(
        self, keys: ApiKeys | None, prepare: Callable[[], dict[str, Any]], keeps_calls: bool
    ) -> None:
        super().__init__(prepare)
        self.admission = Admission(keys)
        sidebands = Sidebands(self.find, self.admission, nowhere)
        self.sessions = LiveSessions(
            self.open_call, self.open_unstored, self.admission, LiveOptions(PHRASE, keeps_calls)
        )
        self.endpoint = LiveEndpoint(self.sessions, lambda: None, self.admission, sidebands=sidebands)
        self.stored: dict[str, Stored] = {}
        self.webrtc = LiveWebRtcEndpoint(self.sessions, WebRtcCalls(Network()), lambda: None, self.admission)

    @property
    def url(self) -> str:
        """URL for a WebSocket client."""
        return f"ws://127.0.0.1:{self.port}/v1/live/sessions"

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the API."""
        forks = Forks(self._find, self.endpoint, self.webrtc, self.admission, USUAL_LIMITS)
        return live_routes(self.admission, self.endpoint, self.webrtc, forks, self.hang_up)

    async def _find(self, session_id: str) -> Stored:
        if session_id not in self.stored:
            raise RequestError("session_not_found", f"no ended session {session_id!r} is kept")
        return self.stored[session_id]

    async def hang_up(self, asked: CallAsked) -> bool:
        """End a session."""
        return self.sessions.end(asked)


@asynccontextmanager
async def serving(
    keys: ApiKeys | None = None,
    prepare: Callable[[], dict[str, Any]] = dict,
    keeps_calls: bool = True,
) -> AsyncIterator[LiveServer]:
    """Run a server during the block."""
    server = LiveServer(keys, prepare, keeps_calls)
    async with server.serving(server.routes(), SEND_BUFFER_BYTES):
        yield server


class LiveSocket:
    """A client's end of a session; every event that it receives is proved."""

    def __init__(self, websocket: ClientConnection) -> None:
        self.websocket = websocket
        self.events: list[dict[str, Any]] = []

    async def send(self, kind: str, **fields: Any) -> None:
        """Send an event."""
        await self.websocket.send(json.dumps({"type": kind, **fields}))

    async def receive(self) -> dict[str, Any]:
        """Return the next event."""
        self.events.append(proved(json.loads(await self.websocket.recv())))
        return self.events[-1]

    async def until(self, kind: str) -> dict[str, Any]:
        """Return the next event of a kind."""
        while (event := await self.receive())["type"] != kind:
            pass
        return event


@asynccontextmanager
async def session(
    prepare: Callable[[], dict[str, Any]] = dict, **config: Any
) -> AsyncIterator[tuple[LiveServer, LiveSocket]]:
    """Yield a server and a client whose session has started with this configuration."""
    async with serving(prepare=prepare) as server, connect(server.url) as websocket:
        socket = LiveSocket(websocket)
        await socket.send("session.start", session={"model": "gpt-live-1", **config})
        await socket.until("session.started")
        yield server, socket
