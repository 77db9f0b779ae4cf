"""`/v1/live/sessions/{id}/fork`: continues a stored session on a new WebSocket, or over WebRTC by POST."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.websockets import WebSocket

from voiceagent.access.access_control import Admission, Admitted
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.live.protocol.decode import decode
from voiceagent.transports.live.protocol.fork import ForkStart, forked_start
from voiceagent.transports.live.protocol.session_object import MediaForkConfig
from voiceagent.transports.live.sessions import FindStored, Start, Stored
from voiceagent.transports.live.webrtc import LiveWebRtcEndpoint, Transport
from voiceagent.transports.live.websocket import LiveEndpoint
from voiceagent.transports.realtime.http import denying, to_object
from voiceagent.transports.realtime.protocol.errors import RequestError, Wire, from_validation
from voiceagent.transports.realtime.protocol.limits import check_object
from voiceagent.transports.websocket import address_of


class _ForkRequest(Wire):
    transport: Transport
    session: MediaForkConfig | None = None


class Forks:
    """Endpoint of forks. find: returns a stored session. They are for those who may read kept calls."""

    def __init__(
        self,
        find: FindStored,
        websocket: LiveEndpoint,
        webrtc: LiveWebRtcEndpoint,
        admission: Admission,
        limits: TransportLimits,
    ) -> None:
        self._find = find
        self._websocket = websocket
        self._webrtc = webrtc
        self._admission = admission
        self._limits = limits

    async def create(self, request: Request) -> Response:
        """Answer an offer. Raise NotAdmitted, CallRefused, RequestError."""
        caller = self._admit(request.headers, address_of(request))
        document = to_object(await request.body(), "the body", self._limits)
        if isinstance(session := document.get("session"), dict):
            check_object(session, "session", self._limits)
        try:
            asked = _ForkRequest.model_validate(document)
        except ValidationError as error:
            raise from_validation(error, document) from error
        stored = await self._find(request.path_params["session_id"])
        event = forked_start(stored.settings, asked.session or MediaForkConfig())
        return await self._webrtc.answer(request, caller, Start(event, stored.items), asked.transport.sdp)

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection: the endpoint of a `WebSocketRoute`."""
        async with denying(websocket):
            caller = self._admit(websocket.headers, address_of(websocket))
            stored = await self._find(websocket.path_params["session_id"])
            await self._websocket.run(websocket, caller, self._reader(stored))

    def _admit(self, headers: Mapping[str, str], peer: str) -> Admitted:
        self._admission.admit_reader(headers, peer, "")
        return self._admission.admit(headers, peer)

    def _reader(self, stored: Stored) -> Callable[[str | bytes], Start]:
        def read(message: str | bytes) -> Start:
            event = decode(message, self._limits, ForkStart)
            if not isinstance(event, ForkStart):
                text = "the session has not started; send session.start first"
                raise RequestError("session_not_started", text, "type", event.event_id)
            try:
                return Start(forked_start(stored.settings, event.session, event.event_id), stored.items)
            except RequestError as error:
                error.client_event_id = event.event_id
                raise

        return read
