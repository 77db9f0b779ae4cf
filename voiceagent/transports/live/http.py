"""HTTP requests of the Live API: sessions over WebRTC, hanging up, and clear refusals of the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.transports.live.forks import Forks
from voiceagent.transports.live.webrtc import PATH, LiveWebRtcEndpoint
from voiceagent.transports.live.websocket import LiveEndpoint
from voiceagent.transports.realtime.http import answering, cross_origin
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.websocket import address_of, websocket_routes
from voiceagent.validation.errors import shorten

SERVED = (
    f"WebSockets at {PATH}, {PATH}/{{id}}/attach and {PATH}/{{id}}/fork, "
    f"POST {PATH}, {PATH}/{{id}}/hangup and {PATH}/{{id}}/fork, and GET {PATH}/{{id}}/content"
)
NO_PHONE_CALL = {
    "accept": "phone calls are answered here by the agent of their line ([telephony]), without a request",
    "reject": "phone calls are refused here by limits and by the agent of their line ([telephony])",
    "refer": "a Live session here has no phone line; agents on phone lines transfer with their own tool",
}
"""Requests about SIP calls that this server refuses, with the reason."""


def live_routes(
    admission: Admission,
    websocket: LiveEndpoint,
    webrtc: LiveWebRtcEndpoint,
    forks: Forks,
    hang_up: Callable[[CallAsked], Awaitable[bool]],
) -> list[BaseRoute]:
    """Return the routes of the API, except recordings. hang_up: ends a session anywhere, or returns False."""

    async def asked_for(request: Request) -> CallAsked:
        peer = address_of(request)
        await admission.learn(request.headers, peer)
        caller = admission.admit(request.headers, peer)
        return CallAsked(request.path_params["session_id"], caller.secret)

    async def end(request: Request) -> Response:
        asked = await asked_for(request)
        if not await hang_up(asked):
            raise _not_found(asked.call_id)
        return Response(status_code=200)

    async def refuse(request: Request) -> Response:
        await asked_for(request)
        reason = NO_PHONE_CALL[request.url.path.rpartition("/")[2]]
        raise RequestError("not_supported", reason, "session_id")

    pages = [cross_origin(admission)]
    methods = ["POST", "OPTIONS"]  # OPTIONS: for the middleware
    return [
        Route(PATH, answering(webrtc.create), methods=methods, middleware=pages),
        Route(f"{PATH}/{{session_id}}/hangup", answering(end), methods=methods, middleware=pages),
        Route(f"{PATH}/{{session_id}}/fork", answering(forks.create), methods=["POST"]),
        WebSocketRoute(f"{PATH}/{{session_id}}/fork", forks.serve),
        WebSocketRoute(f"{PATH}/{{session_id}}/attach", websocket.attach),
        *(
            Route(f"{PATH}/{{session_id}}/{action}", answering(refuse), methods=["POST"])
            for action in NO_PHONE_CALL
        ),
        *websocket_routes(PATH, websocket.serve),
        Route(f"{PATH}/{{session_id}}/{{action}}", _not_served, methods=["GET", "POST"]),
    ]


def _not_found(session_id: str) -> RequestError:
    return RequestError("call_not_found", f"there is no session {shorten(session_id)}", "session_id")


async def _not_served(request: Request) -> Response:
    message = f"{request.method} {request.url.path[:100]} is not served here; there are {SERVED}"
    error = {"type": "invalid_request_error", "code": "not_found", "message": message, "param": None}
    return JSONResponse({"error": error}, 404)
