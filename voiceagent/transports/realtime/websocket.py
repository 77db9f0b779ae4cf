"""`/v1/realtime`: a call over a WebSocket, in the OpenAI Realtime protocol.

Query: `model`; `intent=transcription` for a call that only transcribes; `call_id` for a sideband of a running
call (see `sidebands/`). The key is in `Authorization: Bearer` or in the subprotocol
`openai-insecure-api-key.<key>`. The subprotocol `realtime` is accepted if offered. With `resume_s`,
the call waits for its client after a lost connection; `session_id` and `after` resume it (see `resuming`).
uvicorn closes connections that send overlong messages, with code 1009 (`ws_max_size`).
"""

from __future__ import annotations

import time

from starlette.websockets import WebSocket

from audio.pcm import Samples
from voiceagent.access.access_control import Admission, Admitted
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.call import OpenCall, conversation_id, new_id
from voiceagent.transports.connection import Connection, Wire
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.call import RealtimeCall
from voiceagent.transports.realtime.http import denying, refuse_live, wants_transcription
from voiceagent.transports.realtime.protocol.encode import Encoder, to_json
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.resuming import ResumableWire, resumable, wanted_resume_s
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.realtime.sidebands.messages import LIVE_PREFIX
from voiceagent.transports.websocket import WebSocketWire, address_of

BETA_HEADER = "realtime=v1"
BETA_SUBPROTOCOL = "openai-beta.realtime-v1"
BETA_REFUSED = "beta_api_shape_disabled"
BETA_CLOSE_CODE = 4000


class WebSocketClient:
    """Client of a call over WebSocket: encodes events and audio, and queues them.

    max_call_s: maximum length of the call.
    """

    only_speech = True

    def __init__(self, call_id: str, max_call_s: float) -> None:
        self.outbox: Outbox[str] = Outbox()
        self.wire: ResumableWire | None = None
        """Connection that the client may replace, if it asked for that."""
        self._encoder = Encoder(call_id, conversation_id(call_id), round(time.time() + max_call_s))

    def notify(self, notification: notify.Notification) -> None:
        for event in self._encoder.encode(notification):
            self.outbox.put(to_json(event))

    def play(self, response_id: str, frame: Samples) -> None:
        """Send audio of a response, int16 mono at the rate of the call's output format. Other audio has no
        event in the Realtime API and is dropped.
        """
        if not response_id:
            return
        text = self._encoder.encode_audio(response_id, frame)
        if text is not None:
            self.outbox.put(text, sound=True)

    def clear(self) -> None:
        """Drop unsent audio; the client drops its own buffer."""
        self.outbox.drop_sound()

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""
        self.outbox.put(to_json(self._encoder.encode_report(turn)))


class RealtimeEndpoint:
    """Endpoint of calls over WebSockets. limits: of each call. sidebands: connects to running calls."""

    def __init__(
        self,
        open_call: OpenCall,
        open_transcription: OpenCall,
        admission: Admission,
        sidebands: Sidebands,
        limits: TransportLimits = USUAL_LIMITS,
    ) -> None:
        self._open_call = open_call
        self._open_transcription = open_transcription
        self._admission = admission
        self._limits = limits
        self._sidebands = sidebands

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection, from handshake to its call's end: the endpoint of a `WebSocketRoute`."""
        await self._admission.learn(websocket.headers, address_of(websocket))
        async with denying(websocket):
            caller = self._admission.admit(websocket.headers, address_of(websocket))
            if asks_for_beta(websocket):
                await refuse_beta(websocket)
            elif (call_id := websocket.query_params.get("call_id")) is not None:
                if call_id.startswith(LIVE_PREFIX):
                    message = "this is a Live session; attach at /v1/live/sessions/{id}/attach"
                    raise RequestError("invalid_value", message, "call_id")
                await self._sidebands.serve(websocket, caller, call_id)
            elif (session_id := websocket.query_params.get("session_id")) is not None:
                if session_id.startswith(LIVE_PREFIX):
                    message = "this is a Live session; resume it at /v1/live/sessions?session_id="
                    raise RequestError("invalid_value", message, "session_id")
                await self._sidebands.resume(
                    websocket, caller, session_id, websocket.query_params.get("after", "")
                )
            else:
                await self._serve_call(websocket, caller)

    async def _serve_call(self, websocket: WebSocket, caller: Admitted) -> None:
        refuse_live(caller)
        query = websocket.query_params
        transcribes = wants_transcription(query, caller.session)
        resume_s = wanted_resume_s(query.get("resume_s"))
        call_id = new_id("sess")
        client = WebSocketClient(call_id, self._limits.max_call_s)
        call_over = await self._admission.begin_call(caller, call_id)
        try:
            opener = self._open_transcription if transcribes else self._open_call
            call = opener(call_id, client, query.get("model", ""))
            call.join_trace(websocket.headers.get("traceparent", ""))
            offered = websocket.scope["subprotocols"]
            wire: Wire[str] = WebSocketWire(websocket, "realtime" if "realtime" in offered else None)
            if resume_s:
                wire = client.wire = resumable(wire, resume_s, call)
            handler = RealtimeCall(call, client, caller.session, limits=self._limits)
            await Connection(wire, client.outbox, call, limits=self._limits).run(handler)
        finally:
            if client.wire is not None:
                client.wire.release()
            call_over()


def asks_for_beta(websocket: WebSocket) -> bool:
    """Return True if the handshake asks for the beta API, by header or by subprotocol."""
    asked = websocket.headers.get("openai-beta", "").split(",")
    return BETA_HEADER in map(str.strip, asked) or BETA_SUBPROTOCOL in websocket.scope["subprotocols"]


async def refuse_beta(websocket: WebSocket) -> None:
    """Send an `error` event and close the connection, as OpenAI does: browsers show no refused handshake."""
    offered = websocket.scope["subprotocols"]
    await websocket.accept("realtime" if "realtime" in offered else None)
    message = (
        "the beta of the Realtime API is not served here; leave out the header 'OpenAI-Beta: realtime=v1' "
        f"and the subprotocol '{BETA_SUBPROTOCOL}', and send the events of the released API"
    )
    error = {"type": "invalid_request_error", "code": BETA_REFUSED, "message": message, "param": None}
    event = {"type": "error", "event_id": new_id("event"), "error": {**error, "event_id": None}}
    await websocket.send_text(to_json(event))
    await websocket.close(BETA_CLOSE_CODE, BETA_REFUSED)
