"""`POST /v1/realtime/client_secrets`: issues a client secret with the session that its calls begin with.

A secret with a Live session opens that session over WebRTC, and nothing else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voiceagent.access.access_control import Admission, Admitted
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.requester import NotAdmitted
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import new_id
from voiceagent.transports.limits import USUAL_LIMITS, EventLimits
from voiceagent.transports.live.protocol.session_object import MediaSessionConfig
from voiceagent.transports.realtime.http import LIVE, WRONG_SECRET, to_object
from voiceagent.transports.realtime.protocol.errors import Wire, from_validation
from voiceagent.transports.realtime.protocol.limits import check_object
from voiceagent.transports.realtime.protocol.session_settings import merge_given
from voiceagent.transports.realtime.protocol.shown_session import show_session
from voiceagent.transports.websocket import address_of


class _ExpiresAfter(Wire):
    """Field `expires_after`."""

    anchor: Literal["created_at"] = "created_at"
    seconds: Annotated[int, Field(ge=10, le=7200)] = 600


class _SecretRequest(Wire):
    """Body of the request."""

    expires_after: _ExpiresAfter = _ExpiresAfter()
    session: dict[str, Any] | None = None


class SecretsEndpoint:
    """Endpoint that issues client secrets.

    settings: defaults of a call. share: makes a secret known to the other processes that take calls. limits:
    of the session.
    """

    def __init__(
        self,
        admission: Admission,
        settings: CallSettings,
        share: Callable[[ClientSecret], Awaitable[None]],
        limits: EventLimits = USUAL_LIMITS,
    ) -> None:
        self._admission = admission
        self._settings = settings
        self._share = share
        self._limits = limits

    async def create(self, request: Request) -> Response:
        """Create a client secret. Holders of one may not create another. Raise NotAdmitted, RequestError."""
        self._admission.admit_owner(request.headers, address_of(request))
        document = to_object(await request.body() or b"{}", "the body", self._limits)
        try:
            asked = _SecretRequest.model_validate(document)
        except ValidationError as error:
            raise from_validation(error, document) from error
        session = asked.session or {}
        check_object(session, "session", self._limits)
        shown = session
        if session.get("type") == LIVE:
            check_prescribed(session)
        else:
            settings = merge_given(session, self._settings)
            shown = show_session(new_id("sess"), settings, expires_at=0)
        secret = self._admission.new_secret(session, asked.expires_after.seconds)
        await self._share(secret)
        return JSONResponse({"value": secret.value, "expires_at": int(secret.expires_s), "session": shown})


def check_prescribed(session: dict[str, Any]) -> None:
    """Raise RequestError unless these fields, with the type, are a session over WebRTC."""
    fields = {name: value for name, value in session.items() if name != "type"}
    try:
        MediaSessionConfig.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error, {"session": fields}, ("session",)) from error


def prescribed(caller: Admitted) -> dict[str, Any]:
    """Return the fields that the caller's secret prescribes, which a request cannot change. Raise NotAdmitted
    for a secret with a session of the Realtime API.
    """
    fields = dict(caller.session)
    if fields and fields.pop("type", None) != LIVE:
        message = "this client secret prescribes a session of the Realtime API; it opens no Live session"
        raise NotAdmitted(403, WRONG_SECRET, message)
    return fields


def refuse_prescribed(caller: Admitted) -> None:
    """Raise NotAdmitted for a secret with a session: over WebSockets it would not be restricted."""
    if prescribed(caller):
        message = "this client secret prescribes a Live session over WebRTC; it opens no WebSocket"
        raise NotAdmitted(403, WRONG_SECRET, message)
