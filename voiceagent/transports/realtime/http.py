"""HTTP requests of the Realtime API: errors as JSON, limits of the body, cross-origin requests, paths."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from voiceagent.access.access_control import Admission, Admitted
from voiceagent.access.requester import NotAdmitted
from voiceagent.session.call import CallRefused
from voiceagent.transports.limits import EventLimits
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.limits import check_size, check_values
from voiceagent.validation.errors import shorten

_PATH = "/v1/realtime"
_API = "/v1/"
MAX_BODY_BYTES = 1_048_576
LIVE = "live"
"""Type of a Live session in requests for client secrets, next to "realtime" and "transcription"."""
WRONG_SECRET = "wrong_client_secret"
_HEADERS = ("authorization", "content-type", "x-openai-agents-sdk")

Answer = Callable[[Request], Awaitable[Response]]


def answering(answer: Answer) -> Answer:
    """Return the endpoint of a route: `answer`, with exceptions turned into the protocol's error responses.

    NotAdmitted and CallRefused have their own status. RequestError is 400, except for the codes in
    `STATUS`.
    """

    async def answered(request: Request) -> Response:
        try:
            check_length(request)
            return await answer(request)
        except NotAdmitted as refused:
            return _refusal(refused.status, refused.code, str(refused))
        except CallRefused as refused:
            answered_no = _refusal(refused.status, "call_refused", str(refused))
            answered_no.headers.update(refused.headers)
            return answered_no
        except ClientDisconnect:
            return _refusal(400, "incomplete", "the body broke off")  # nobody receives this
        except RequestError as error:
            return _refusal(STATUS.get(error.code, 400), error.code, error.message, error.param)

    return answered


STATUS = {
    "call_not_found": 404,
    "cannot_fork": 409,
    "not_kept": 404,
    "session_not_found": 404,
    "too_long": 413,
    "unavailable": 503,
    "unsupported_content_type": 415,
}
"""Status of refused requests by the error's code, if not 400."""


def check_length(request: Request) -> None:
    """Raise RequestError if the body is too long or has no declared length."""
    length = request.headers.get("content-length", "0" if "transfer-encoding" not in request.headers else "")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        message = f"the body has {length or 'an unknown number of'} bytes; at most {MAX_BODY_BYTES} are taken"
        raise RequestError("too_long", message)


def to_object(text: str | bytes, name: str, limits: EventLimits) -> dict[str, Any]:
    """Parse the JSON object of a body, or of a part called `name` in errors. Raise RequestError."""
    check_size(text, name, limits)
    try:
        document = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise RequestError("invalid_json", f"{name} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise RequestError("invalid_json", f"{name} is no JSON object")
    check_values(document, name, limits)
    return document


def under_realtime(routes: list[Route], admission: Admission) -> Mount:
    """Return the routes under `/v1/realtime/`. Pages of other sites may use them if they may make calls."""
    app = Router(routes, default=unknown_path(routes))
    return Mount(_PATH, app, middleware=[cross_origin(admission)])


def under_v1(routes: list[Route], admission: Admission) -> Mount:
    """Return the app for all other paths under `/v1`: OpenAI's API has more paths than this server.

    routes: the routes of `under_realtime`.
    """
    return Mount("/v1", unknown_path(routes), middleware=[cross_origin(admission)])


def cross_origin(admission: Admission) -> Middleware:
    """Return the middleware by which pages of other sites may use a route if they may make calls."""
    rules = admission.rules
    return Middleware(
        CORSMiddleware,
        allow_origins=["*"] if rules.from_anywhere else sorted(rules.origins or ()),
        allow_methods=["POST"],
        allow_headers=_HEADERS,
        expose_headers=["Location"],
    )


def unknown_path(routes: list[Route]) -> ASGIApp:
    """Return an app that answers unknown paths with an error that names the known ones."""
    there = ", ".join(f"{method} {_PATH}{route.path}" for route in routes for method in route.methods or ())

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        method = scope.get("method", "WebSocket")
        message = f"{method} {shorten(scope['path'])} is not there; there are a WebSocket at {_PATH}, {there}"
        if scope["type"] == "websocket":
            refusal = _refusal(404, "not_found", message)
            await WebSocket(scope, receive, send).send_denial_response(refusal)
            return
        if _is_offer(scope):
            message = f"an SDP offer is sent to POST {_PATH}/calls; {message}"
        await _refusal(404, "not_found", message)(scope, receive, send)

    return refuse


async def refuse_request(request: Request, error: Exception) -> Response:
    """Answer a request that no endpoint served: paths of the API as the API answers, others in plain text.

    The handler of HTTPException for the whole server.
    """
    assert isinstance(error, HTTPException)
    root = request.scope.get("app_root_path", request.scope.get("root_path", ""))
    path, headers = request.scope["path"].removeprefix(root), dict(error.headers or {})
    if not f"{path}/".startswith(_API):
        return PlainTextResponse(error.detail, error.status_code, headers)
    message = error.detail
    if error.status_code == 405 and (allowed := headers.get("Allow")):  # Starlette's own
        message = f"{request.method} {shorten(path)} is not served; allowed: {allowed}"
    refusal = _refusal(error.status_code, CODES.get(error.status_code, "not_found"), message)
    refusal.headers.update(headers)
    return refusal


CODES = {405: "method_not_allowed", 426: "upgrade_required"}
"""Error codes of requests that no endpoint served, by status."""


def _is_offer(scope: Scope) -> bool:
    kind = Headers(scope=scope).get("content-type", "").partition(";")[0].strip().lower()
    return kind == "application/sdp" or (scope["method"] == "POST" and scope["path"] == _PATH)


class SingleSlashes:
    """Middleware that treats repeated slashes in the API's paths as one, and drops one at their end.

    Some clients join a base URL that ends in a slash with a path that begins with one, or with a query. Other
    paths are not changed, because telephony providers sign the requested URL.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a WebSocket."""
        path = scope.get("path", "")
        if "//" in path or path.endswith("/"):
            single = re.sub("/+", "/", path).rstrip("/")
            if single.removeprefix(scope.get("root_path", "")).startswith(_API):
                scope = {**scope, "path": single, "raw_path": single.encode()}
        await self._app(scope, receive, send)


def wants_transcription(query: Mapping[str, str], session: Mapping[str, Any]) -> bool:
    """Return True for a call that only transcribes, by its query or first session. Raise RequestError."""
    intent = query.get("intent", "conversation")
    if intent not in ("conversation", "transcription"):
        message = f"intent is {shorten(intent)}; allowed: 'conversation', 'transcription'"
        raise RequestError("invalid_value", message, "intent")
    return intent == "transcription" or session.get("type") == "transcription"


def refuse_live(caller: Admitted) -> None:
    """Raise NotAdmitted for a secret with a Live session, which opens no Realtime call."""
    if caller.session.get("type") == LIVE:
        message = "this client secret prescribes a Live session; it opens no call of the Realtime API"
        raise NotAdmitted(403, WRONG_SECRET, message)


async def deny(
    websocket: WebSocket, status: int, code: str, message: str, headers: dict[str, str] | None = None
) -> None:
    """Refuse a handshake with an error of the protocol."""
    refusal = _refusal(status, code, message)
    refusal.headers.update(headers or {})
    await websocket.send_denial_response(refusal)


@asynccontextmanager
async def denying(websocket: WebSocket) -> AsyncIterator[None]:
    """Refuse the handshake with the error that the block raises: NotAdmitted, CallRefused, RequestError."""
    try:
        yield
    except NotAdmitted as refused:
        await deny(websocket, refused.status, refused.code, str(refused))
    except CallRefused as refused:
        await deny(websocket, refused.status, "call_refused", str(refused), refused.headers)
    except RequestError as error:
        await deny(websocket, STATUS.get(error.code, 400), error.code, error.message)


def _refusal(status: int, code: str, message: str, param: str | None = None) -> Response:
    error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
    return JSONResponse({"error": error}, status)
