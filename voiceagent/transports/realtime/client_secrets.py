"""`POST /v1/realtime/client_secrets`: issues a client secret with the session that its calls begin with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voiceagent.access.access_control import Admission
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import new_id
from voiceagent.transports.limits import USUAL_LIMITS, EventLimits
from voiceagent.transports.live.secrets import LIVE, check_prescribed
from voiceagent.transports.realtime.http import to_object
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
