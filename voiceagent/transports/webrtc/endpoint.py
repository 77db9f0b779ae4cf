"""`/v1/realtime/calls`: calls over WebRTC, as clients of the OpenAI Realtime API make them.

`POST /v1/realtime/calls` takes an SDP offer, either as the body (`application/sdp`, with `?model=`) or as the
part `sdp` of a form with the initial session in the part `session`. It answers 201 with the SDP and the
call's `Location`. `POST /v1/realtime/calls/{id}/hangup` ends it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from audio.pcm import Samples
from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.call import OpenCall, conversation_id, new_id
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.call import RealtimeCall
from voiceagent.transports.realtime.http import refuse_live, to_object, wants_transcription
from voiceagent.transports.realtime.protocol.encode import Encoder, to_json
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.limits import check_object
from voiceagent.transports.realtime.protocol.response import ServerEvent
from voiceagent.transports.realtime.protocol.session_settings import merge_given
from voiceagent.transports.webrtc.calls import WebRtcCalls
from voiceagent.transports.webrtc.media import AudioOutput
from voiceagent.transports.websocket import address_of
from voiceagent.validation.errors import shorten


class WebRtcClient:
    """Client of a call over WebRTC: sends events to the data channel and audio over RTP.

    max_call_s: maximum length of the call. output: sends the audio.
    """

    def __init__(self, call_id: str, max_call_s: float) -> None:
        self.output = AudioOutput()
        self.outbox: Outbox[str] = Outbox()
        self._encoder = Encoder(call_id, conversation_id(call_id), round(time.time() + max_call_s))

    def notify(self, notification: notify.Notification) -> None:
        for event in self._encoder.encode(notification):
            self._put(event)
        if isinstance(notification, notify.NotifyResponseEnded) and self.output.is_playing(
            notification.response_id
        ):
            self._put(self._encoder.encode_output_buffer("stopped", notification.response_id))
            self.output.stop()

    def play(self, response_id: str, frame: Samples) -> None:
        """Send audio of a response, or of none (""), int16 mono at 24 kHz."""
        if response_id and not self.output.is_playing(response_id):
            self._put(self._encoder.encode_output_buffer("started", response_id))
        self.output.play(response_id, frame)

    def clear(self) -> None:
        """Notify the client that the audio stops; sent audio cannot be dropped."""
        if (response_id := self.output.stop()) is not None:
            self._put(self._encoder.encode_output_buffer("cleared", response_id))

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""
        self._put(self._encoder.encode_report(turn))

    def _put(self, event: ServerEvent) -> None:
        self.outbox.put(to_json(event))


@dataclass(frozen=True, slots=True)
class _CallRequest:
    """Request for a call. session: fields that differ from the server's."""

    offer: str
    session: dict[str, Any]
    model: str


class WebRtcEndpoint:
    """Endpoint of Realtime calls over WebRTC. calls: all WebRTC calls of this process. hang_up_elsewhere:
    ends a call of another process; returns False if there is none.
    """

    def __init__(
        self,
        open_call: OpenCall,
        open_transcription: OpenCall,
        admission: Admission,
        calls: WebRtcCalls,
        hang_up_elsewhere: Callable[[CallAsked], Awaitable[bool]],
        limits: TransportLimits = USUAL_LIMITS,
    ) -> None:
        self._open_call = open_call
        self._open_transcription = open_transcription
        self._admission = admission
        self._calls = calls
        self._hang_up_elsewhere = hang_up_elsewhere
        self._limits = limits

    async def call(self, request: Request) -> Response:
        """Answer an offer. Raise NotAdmitted, CallRefused, RequestError."""
        peer = address_of(request)
        await self._admission.learn(request.headers, peer)
        caller = self._admission.admit(request.headers, peer)
        refuse_live(caller)
        asked = await _parse_request(request, self._limits)
        call_id = new_id("rtc")
        client = WebRtcClient(call_id, self._limits.max_call_s)
        session = caller.session | asked.session
        transcribes = wants_transcription(request.query_params, session)
        open_call = self._open_transcription if transcribes else self._open_call
        # before the call is made: concurrent offers must not exceed a limit together
        call_over = await self._admission.begin_call(caller, call_id)
        try:
            call = open_call(call_id, client, asked.model)
        except BaseException:
            call_over()
            raise
        call.join_trace(request.headers.get("traceparent", ""))
        connection = self._calls.new(call, client.output, client.outbox)
        handler = RealtimeCall(call, client, session, sound_apart=True, limits=self._limits)
        try:
            merge_given(session, call.settings)
            answer = await connection.answer(
                asked.offer, self._admission.rules.requester(request.headers, peer).address
            )
        except BaseException:
            call_over()
            await connection.discard()
            raise
        # before the caller connects: until then a sideband may change the session
        handler.prepare()
        self._calls.start(call_id, connection, handler, call_over)
        location = {"Location": f"/v1/realtime/calls/{call_id}"}
        return Response(answer, 201, location, media_type="application/sdp")

    async def hang_up(self, request: Request) -> Response:
        """End a call. Raise NotAdmitted, RequestError."""
        peer = address_of(request)
        await self._admission.learn(request.headers, peer)
        caller = self._admission.admit(request.headers, peer)
        asked = CallAsked(request.path_params["call_id"], caller.secret)
        if not self.end(asked) and not await self._hang_up_elsewhere(asked):
            raise RequestError("call_not_found", f"there is no call {shorten(asked.call_id)}", "call_id")
        return Response(status_code=200)

    def end(self, asked: CallAsked) -> bool:
        """End a call of this process, or return True for one that has ended."""
        return self._admission.may_control(asked) and self._calls.hang_up(asked.call_id)


async def _parse_request(request: Request, limits: TransportLimits) -> _CallRequest:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    model = request.query_params.get("model", "")
    if kind == "application/sdp":
        return _CallRequest((await request.body()).decode(errors="replace"), {}, model)
    if kind != "multipart/form-data":
        message = f"the body is {kind or 'of no type'}; allowed: application/sdp, multipart/form-data"
        raise RequestError("unsupported_content_type", message)
    try:
        form = await request.form(max_files=0, max_fields=8)
    except HTTPException as error:
        raise RequestError("invalid_form", f"the form cannot be read: {error.detail}") from error
    offer, session = form.get("sdp"), form.get("session")
    if not isinstance(offer, str):
        raise RequestError("missing_required_parameter", "the form has no part sdp", "sdp")
    given = to_object(session, "session", limits) if isinstance(session, str) else {}
    check_object(given, "session", limits)
    return _CallRequest(offer, given, model)
