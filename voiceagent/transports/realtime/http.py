"""What the HTTP requests of the Realtime API have in common: who is let in, how a refusal reads, how much
is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic_core import from_json
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketClose

from voiceagent.access.access_control import Admission
from voiceagent.access.requester import NotAdmitted
from voiceagent.session.call import CallRefused
from voiceagent.transports.limits import EventLimits
from voiceagent.transports.realtime.protocol.errors import RequestError, shorten
from voiceagent.transports.realtime.protocol.limits import check_size, check_values

_PATH = "/v1/realtime"
MAX_BODY_BYTES = 1_048_576
_HEADERS = ("authorization", "content-type", "x-openai-agents-sdk")

Answer = Callable[[Request], Awaitable[Response]]


def answering(answer: Answer) -> Answer:
    """The endpoint of a route: `answer`, its refusals in the words of the protocol.

    NotAdmitted and CallRefused bring their status; RequestError is 400, except where nothing is found and
    where the body is too long.
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
            return _refusal(400, "incomplete", "the body broke off")  # to nobody
        except RequestError as error:
            return _refusal(_STATUS.get(error.code, 400), error.code, error.message, error.param)

    return answered


_STATUS = {"call_not_found": 404, "too_long": 413, "unsupported_content_type": 415}


def check_length(request: Request) -> None:
    """Raises RequestError where the body is longer than may be, or does not tell its length."""
    length = request.headers.get("content-length", "0" if "transfer-encoding" not in request.headers else "")
    if not length.isdigit() or int(length) > MAX_BODY_BYTES:
        message = f"the body has {length or 'an unknown number of'} bytes; at most {MAX_BODY_BYTES} are taken"
        raise RequestError("too_long", message)


def to_object(text: str | bytes, name: str, limits: EventLimits) -> dict[str, Any]:
    """The JSON object of a body or a part of one, called `name` in errors. Raises RequestError."""
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
    """All that is under `/v1/realtime/`. OpenAI's API has more there; a client that asks for that is told
    that it is not here. Pages of other sites may ask where they may call.
    """
    rules = admission.rules
    cors = Middleware(
        CORSMiddleware,
        allow_origins=["*"] if rules.from_anywhere else sorted(rules.origins or ()),
        allow_methods=["POST"],
        allow_headers=_HEADERS,
        expose_headers=["Location"],
    )
    return Mount(_PATH, Router(routes, default=_not_there(routes)), middleware=[cors])


def _not_there(routes: list[Route]) -> ASGIApp:
    there = ", ".join(f"{method} {_PATH}{route.path}" for route in routes for method in route.methods or ())

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await WebSocketClose()(scope, receive, send)
            return
        asked = f"{scope['method']} {shorten(scope['path'])}"
        message = f"{asked} is not there; there are a WebSocket at {_PATH}, {there}"
        await _refusal(404, "not_found", message)(scope, receive, send)

    return refuse


def wants_transcription(query: Mapping[str, str], session: Mapping[str, Any]) -> bool:
    """Return whether a call is to be one that only transcribes, by the query of its request or by the session
    that it begins with. Raises RequestError.
    """
    intent = query.get("intent", "conversation")
    if intent not in ("conversation", "transcription"):
        message = f"intent is {shorten(intent)}; allowed: 'conversation', 'transcription'"
        raise RequestError("invalid_value", message, "intent")
    return intent == "transcription" or session.get("type") == "transcription"


async def deny(
    websocket: WebSocket, status: int, code: str, message: str, headers: dict[str, str] | None = None
) -> None:
    """Refuse a handshake, in the words of the protocol."""
    refusal = _refusal(status, code, message)
    refusal.headers.update(headers or {})
    await websocket.send_denial_response(refusal)


def _refusal(status: int, code: str, message: str, param: str | None = None) -> Response:
    error = {"type": "invalid_request_error", "code": code, "message": message, "param": param}
    return JSONResponse({"error": error}, status)
