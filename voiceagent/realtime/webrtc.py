"""`/v1/realtime/calls`: calls over WebRTC, as clients of the OpenAI Realtime API make them.

`POST /v1/realtime/calls` takes an SDP offer, by itself (`application/sdp`, with `?model=`) or as the part
`sdp` of a form whose part `session` is the session to begin with, and answers 201 with the SDP and the
call's `Location`. `POST /v1/realtime/calls/{id}/hangup` ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from voiceagent.auth import ApiKeys, presented_key, same_origin
from voiceagent.call import CallRefused, OpenCall
from voiceagent.realtime.errors import RequestError, from_validation
from voiceagent.realtime.requests import new_id
from voiceagent.realtime.session_object import SessionObject
from voiceagent.realtime.session_settings import merge
from voiceagent.realtime.webrtc_call import Network, OfferRefused, WebRtcCall, WebRtcClient
from voiceagent.settings import CallSettings

log = structlog.get_logger()

MOST_BODY_BYTES = 1_048_576
_HEADERS = ["authorization", "content-type", "x-openai-agents-sdk"]


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
        self.response = JSONResponse({"error": error}, status)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a caller asks for. session: as JSON text, None where it is left to the server."""

    offer: str
    session: str | None
    model: str


class WebRtcEndpoint:
    """Serves calls. keys: those accepted, None for none. any_origin: without keys, let pages of other sites
    call.
    """

    def __init__(
        self,
        open_call: OpenCall,
        keys: ApiKeys | None = None,
        any_origin: bool = False,
        network: Network | None = None,
    ) -> None:
        self._open_call = open_call
        self._keys = keys
        self._any_origin = any_origin
        self._network = network or Network()
        self._calls: dict[str, WebRtcCall] = {}
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> Mount:
        """All that is under `/v1/realtime/`. A page that has a key may call from anywhere."""
        anywhere = ["*"] if self._keys is not None or self._any_origin else []
        cors = Middleware(
            CORSMiddleware,
            allow_origins=anywhere,
            allow_methods=["POST"],
            allow_headers=_HEADERS,
            expose_headers=["Location"],
        )
        routes = [
            Route("/calls", self._guarded(self._call), methods=["POST"]),
            Route("/calls/{call_id}/hangup", self._guarded(self._hang_up), methods=["POST"]),
        ]
        return Mount("/v1/realtime", routes=routes, middleware=[cors])

    def _guarded(self, answer: Any) -> Any:
        async def guarded(request: Request) -> Response:
            try:
                self._let_in(request.headers)
                response: Response = await answer(request)
                return response
            except _Refused as refused:
                return refused.response

        return guarded

    def _let_in(self, headers: Mapping[str, str]) -> None:
        if self._keys is not None and not self._keys.accepts(presented_key(headers)):
            raise _Refused(401, "invalid_api_key", "the API key is missing or wrong")
        if self._keys is None and not self._any_origin and not same_origin(headers):
            message = f"pages of {headers['origin']} may not call a server without keys"
            raise _Refused(403, "origin_not_allowed", message)

    async def _call(self, request: Request) -> Response:
        asked = await _read(request)
        call_id = new_id("rtc")
        client = WebRtcClient(call_id)
        try:
            call = self._open_call(call_id, client, asked.model)
        except CallRefused as refused:
            raise _Refused(refused.status, "call_refused", str(refused)) from refused
        try:
            settings = None if asked.session is None else _session(asked.session, call.settings)
        except _Refused:
            await call.close("the session asked for is none")
            raise
        connection = WebRtcCall(call, client, self._network, settings)
        try:
            answer = await connection.answer(asked.offer)
        except OfferRefused as refused:
            await connection.discard()
            raise _Refused(400, "invalid_offer", str(refused), "sdp") from refused
        except CallRefused as refused:
            await connection.discard()
            raise _Refused(refused.status, "call_refused", str(refused)) from refused
        self._start(call_id, connection)
        return Response(
            answer, 201, {"Location": f"/v1/realtime/calls/{call_id}"}, media_type="application/sdp"
        )

    async def _hang_up(self, request: Request) -> Response:
        call_id = request.path_params["call_id"]
        connection = self._calls.get(call_id)
        if connection is None:
            raise _Refused(404, "call_not_found", f"there is no call {call_id}")
        connection.hang_up("the client hung up")
        return Response(status_code=200)

    def _start(self, call_id: str, connection: WebRtcCall) -> None:
        async def run() -> None:
            try:
                await connection.run()
            except Exception:
                log.exception("connection_failed", call=call_id)
            finally:
                del self._calls[call_id]

        self._calls[call_id] = connection
        task = asyncio.create_task(run(), name=f"webrtc {call_id}")
        self._running.add(task)
        task.add_done_callback(self._running.discard)


async def _read(request: Request) -> _Asked:
    """What a request asks for. Raises _Refused."""
    length = request.headers.get("content-length", "")
    if not length.isdigit() or int(length) > MOST_BODY_BYTES:
        raise _Refused(
            413, "too_long", f"the body is too long, or of no known length; at most {MOST_BODY_BYTES} bytes"
        )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    model = request.query_params.get("model", "")
    if kind == "application/sdp":
        return _Asked((await request.body()).decode(errors="replace"), None, model)
    if kind != "multipart/form-data":
        message = f"the body is {kind or 'of no type'}; allowed: application/sdp, multipart/form-data"
        raise _Refused(415, "unsupported_content_type", message)
    try:
        form = await request.form(max_files=0, max_fields=8)
    except HTTPException as error:
        raise _Refused(400, "invalid_form", f"the form cannot be read: {error.detail}") from error
    offer, session = form.get("sdp"), form.get("session")
    if not isinstance(offer, str):
        raise _Refused(400, "missing_required_parameter", "the form has no part sdp", "sdp")
    return _Asked(offer, session if isinstance(session, str) else None, model)


def _session(text: str, settings: CallSettings) -> CallSettings:
    """The settings that a session, as JSON text, makes of those in force. Raises _Refused."""
    try:
        document = from_json(text)
        wanted = SessionObject.model_validate(document)
        return merge(wanted, settings, settings)
    except ValidationError as invalid:
        error = from_validation(invalid, document if isinstance(document, dict) else {})
        param = f"session.{error.param}" if error.param else "session"
        raise _Refused(400, error.code, f"session: {error.message}", param) from error
    except RequestError as error:
        raise _Refused(400, error.code, error.message, error.param) from error
    except ValueError as error:
        raise _Refused(400, "invalid_json", f"session is not JSON: {error}", "session") from error
