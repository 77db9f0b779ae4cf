"""`/v1/live/sessions`: a session of OpenAI's Live API over a WebSocket.

The first event is `session.start`, with the model and the configuration. The key is in
`Authorization: Bearer`. With `resume_s` in the query, the session waits for its client after a lost
connection; `session_id` and `after` resume it (see `resuming`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import NamedTuple

from starlette.websockets import WebSocket

from voiceagent.access.access_control import Admission, Admitted
from voiceagent.session.call import CallRefused, new_id
from voiceagent.transports.connection import Connection, Disconnected, Wire
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.live.client import LiveClient
from voiceagent.transports.live.client_secrets import refuse_prescribed
from voiceagent.transports.live.protocol.client_events import SessionStart
from voiceagent.transports.live.protocol.decode import decode
from voiceagent.transports.live.sessions import LiveSessions, Start
from voiceagent.transports.realtime.http import denying
from voiceagent.transports.realtime.protocol.encode import to_json
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.resuming import resumable, wanted_resume_s
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.realtime.sidebands.messages import LIVE_PREFIX
from voiceagent.transports.websocket import WebSocketWire, address_of
from voiceagent.validation.errors import shorten

MAX_REFUSED = 16
"""Refused events before the session has started. One more closes the connection."""


class _About(NamedTuple):
    """A connection's session. resume_s: how long it waits for its client after a lost connection."""

    session_id: str
    traceparent: str
    resume_s: float


class LiveEndpoint:
    """Endpoint of Live sessions over WebSockets. sessions: all of this process. check: raises CallRefused if
    a new call would be refused now. limits: of each session. sidebands: of all calls.
    """

    def __init__(
        self,
        sessions: LiveSessions,
        check: Callable[[], None],
        admission: Admission,
        limits: TransportLimits = USUAL_LIMITS,
        sidebands: Sidebands | None = None,
    ) -> None:
        self._sidebands = sidebands
        self._sessions = sessions
        self._check = check
        self._admission = admission
        self._limits = limits

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection, from handshake to its session's end: the endpoint of a `WebSocketRoute`."""
        async with denying(websocket):
            caller = await self._admit(websocket)
            if (session_id := websocket.query_params.get("session_id")) is None:
                await self.run(websocket, caller, self._read_start)
            else:
                after = websocket.query_params.get("after", "")
                await self._sidebands_of(session_id).resume(websocket, caller, session_id, after)

    async def run(
        self, websocket: WebSocket, caller: Admitted, read_start: Callable[[str | bytes], Start]
    ) -> None:
        """Run an authenticated caller's session. read_start: decodes the first event; raises RequestError."""
        session_id = new_id(LIVE_PREFIX.rstrip("_"))
        async with denying(websocket):
            resume_s = wanted_resume_s(websocket.query_params.get("resume_s"))
            self._check()
            call_over = await self._admission.begin_call(caller, session_id)
            about = _About(session_id, websocket.headers.get("traceparent", ""), resume_s)
            try:
                await self._serve(about, WebSocketWire(websocket), read_start)
            except Disconnected:
                pass  # before the session started
            finally:
                call_over()

    async def attach(self, websocket: WebSocket) -> None:
        """Serve a sideband: the endpoint of a `WebSocketRoute` with the session's id."""
        async with denying(websocket):
            caller = await self._admit(websocket)
            session_id = websocket.path_params["session_id"]
            await self._sidebands_of(session_id).serve(websocket, caller, session_id)

    async def _admit(self, websocket: WebSocket) -> Admitted:
        """Return the caller of a connection. Raise NotAdmitted."""
        await self._admission.learn(websocket.headers, address_of(websocket))
        caller = self._admission.admit(websocket.headers, address_of(websocket))
        refuse_prescribed(caller)
        return caller

    def _sidebands_of(self, session_id: str) -> Sidebands:
        """Return where a session is found. Raise RequestError if the id is no session's."""
        if self._sidebands is None or not session_id.startswith(LIVE_PREFIX):
            raise RequestError("call_not_found", f"there is no session {shorten(session_id)}")
        return self._sidebands

    async def _serve(
        self, about: _About, wire: WebSocketWire, read_start: Callable[[str | bytes], Start]
    ) -> None:
        await wire.open()
        for _ in range(MAX_REFUSED):
            try:
                async with asyncio.timeout(self._limits.max_idle_s):
                    message = await wire.receive()
            except TimeoutError:
                await wire.close(1000, f"no session.start came within {self._limits.max_idle_s:g} s")
                return
            event_id = None
            try:
                start = read_start(message)
                event_id = start.event.event_id
                await self._run(about, start, wire)
                return
            except RequestError as error:
                error.client_event_id = error.client_event_id or event_id
                await _refuse(wire, error)
            except CallRefused as refused:
                await _refuse(wire, RequestError("call_refused", str(refused), None, event_id))
                await wire.close(1013, "no session can start now")
                return
        await wire.close(1008, f"{MAX_REFUSED} events were refused before the session started")

    def _read_start(self, message: str | bytes) -> Start:
        """Return the start in the first event. Raise RequestError."""
        event = decode(message, self._limits)
        if not isinstance(event, SessionStart):
            message_text = "the session has not started; send session.start first"
            raise RequestError("session_not_started", message_text, "type", event.event_id)
        return Start(event)

    async def _run(self, about: _About, start: Start, websocket: WebSocketWire) -> None:
        """Run the session until it ends. Raise CallRefused, RequestError before it has started."""
        client = LiveClient(time.monotonic)
        call = self._sessions.open(about.session_id, client, start, about.traceparent)
        try:
            wire: Wire[str] = websocket
            if about.resume_s:
                wire = client.wire = resumable(wire, about.resume_s, call)
            connection = Connection(wire, client.outbox, call, limits=self._limits)
            session = self._sessions.prepare(about.session_id, call, client, start, connection.end)
        except BaseException:
            await call.close("the session could not start")
            raise
        try:
            await connection.run(session)
        finally:
            if client.wire is not None:
                client.wire.release()
            self._sessions.remove(about.session_id)


async def _refuse(wire: WebSocketWire, error: RequestError) -> None:
    about = {
        "type": "invalid_request_error",
        "code": error.code,
        "message": error.message,
        "param": error.param,
        "client_event_id": error.client_event_id,
    }
    event = {"type": "error", "event_id": new_id("event"), "error": about}
    if error.client_event_id is not None:
        event["client_event_id"] = error.client_event_id
    await wire.send(to_json(event))
