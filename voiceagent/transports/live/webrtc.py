"""`POST /v1/live/sessions`: a Live session over WebRTC.

The body is JSON with the session and the SDP offer, as `client.live.create` of the `openai` SDK sends it; the
answer has the session's id and the SDP answer. Events are sent over the data channel `oai-events`, without
audio; the first is `session.started`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from typing import Any, Literal

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voiceagent.access.access_control import Admission, Admitted
from voiceagent.session.call import new_id
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.live.client import LiveClient
from voiceagent.transports.live.client_secrets import prescribed
from voiceagent.transports.live.protocol.client_events import SessionStart
from voiceagent.transports.live.protocol.permissions import Permissions
from voiceagent.transports.live.protocol.session_object import MediaSessionConfig
from voiceagent.transports.live.sessions import LiveSessions, Start
from voiceagent.transports.realtime.http import to_object
from voiceagent.transports.realtime.protocol.errors import Wire, from_validation
from voiceagent.transports.realtime.protocol.limits import check_object
from voiceagent.transports.realtime.sidebands.messages import LIVE_PREFIX
from voiceagent.transports.webrtc.calls import WebRtcCalls
from voiceagent.transports.webrtc.media import AudioOutput
from voiceagent.transports.websocket import address_of

PATH = "/v1/live/sessions"


class Transport(Wire):
    """Field `transport` of a request."""

    type: Literal["webrtc"]
    sdp: str


class _CreateRequest(Wire):
    transport: Transport
    session: MediaSessionConfig


class LiveWebRtcEndpoint:
    """Endpoint of Live sessions over WebRTC. sessions: all of this process. calls: all WebRTC calls of this
    process. check: raises CallRefused if a new call would be refused now. limits: of each session.
    """

    def __init__(
        self,
        sessions: LiveSessions,
        calls: WebRtcCalls,
        check: Callable[[], None],
        admission: Admission,
        limits: TransportLimits = USUAL_LIMITS,
    ) -> None:
        self._sessions = sessions
        self._calls = calls
        self._check = check
        self._admission = admission
        self._limits = limits

    async def create(self, request: Request) -> Response:
        """Answer an offer. Raise NotAdmitted, CallRefused, RequestError."""
        caller = await self._admit(request)
        fields = prescribed(caller)
        document = to_object(await request.body(), "the body", self._limits)
        if fields and isinstance(document.setdefault("session", {}), dict):
            document["session"] |= fields
        if isinstance(session := document.get("session"), dict):
            check_object(session, "session", self._limits)
        try:
            asked = _CreateRequest.model_validate(document)
        except ValidationError as error:
            raise from_validation(error, document) from error
        event = SessionStart(type="session.start", session=asked.session)
        return await self.answer(request, caller, Start(event), asked.transport.sdp)

    async def _admit(self, request: Request) -> Admitted:
        peer = address_of(request)
        await self._admission.learn(request.headers, peer)
        return self._admission.admit(request.headers, peer)

    async def answer(self, request: Request, caller: Admitted, start: Start, offer: str) -> Response:
        """Start a session and answer the offer. Raise NotAdmitted, CallRefused, RequestError."""
        self._check()
        session_id = new_id(LIVE_PREFIX.rstrip("_"))
        output = AudioOutput()
        client = LiveClient(time.monotonic, output, Permissions(start.event.session.client))
        traceparent = request.headers.get("traceparent", "")
        address = self._admission.rules.requester(request.headers, address_of(request)).address
        over = ExitStack()
        async with AsyncExitStack() as failed:
            # before the call is made: concurrent offers must not exceed a limit together
            over.callback(await self._admission.begin_call(caller, session_id))
            failed.callback(over.close)
            call = self._sessions.open(session_id, client, start, traceparent)
            connection = self._calls.new(call, output, client.outbox)
            failed.push_async_callback(connection.discard)
            session = self._sessions.prepare(session_id, call, client, start, connection.end)
            over.callback(self._sessions.remove, session_id)
            answer = await connection.answer(offer, address)
            failed.pop_all()
        self._calls.start(session_id, connection, session, over.close)
        return JSONResponse(_created(session_id, answer), 201, {"Location": f"{PATH}/{session_id}"})


def _created(session_id: str, answer: str) -> dict[str, Any]:
    return {"session": {"id": session_id}, "transport": {"type": "webrtc", "sdp": answer}}
