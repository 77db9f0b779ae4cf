"""HTTP requests of the Live API: sessions over WebRTC, hanging up, and clear refusals of the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.transports.live.webrtc import PATH, LiveWebRtcEndpoint
from voiceagent.transports.realtime.http import answering, cross_origin
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.websocket import address_of

SERVED = f"a WebSocket and POST at {PATH}, sidebands at {PATH}/{{id}}/attach, and POST {PATH}/{{id}}/hangup"


def live_routes(
    admission: Admission, webrtc: LiveWebRtcEndpoint, hang_up: Callable[[CallAsked], Awaitable[bool]]
) -> list[BaseRoute]:
    """Return the routes of requests. hang_up: ends a session of any process, or returns False."""

    async def end(request: Request) -> Response:
        peer = address_of(request)
        await admission.learn(request.headers, peer)
        caller = admission.admit(request.headers, peer)
        asked = CallAsked(request.path_params["session_id"], caller.secret)
        if not await hang_up(asked):
            raise RequestError("call_not_found", f"there is no session {asked.call_id}", "session_id")
        return Response(status_code=200)

    pages = [cross_origin(admission)]
    methods = ["POST", "OPTIONS"]  # OPTIONS: for the middleware
    return [
        Route(PATH, answering(webrtc.create), methods=methods, middleware=pages),
        Route(f"{PATH}/{{session_id}}/hangup", answering(end), methods=methods, middleware=pages),
        Route(f"{PATH}/{{session_id}}/{{action}}", _not_served, methods=["GET", "POST"]),
    ]


async def _not_served(request: Request) -> Response:
    message = f"{request.method} {request.url.path[:100]} is not served here; there are {SERVED}"
    error = {"type": "invalid_request_error", "code": "not_found", "message": message, "param": None}
    return JSONResponse({"error": error}, 404)
