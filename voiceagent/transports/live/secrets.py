"""Client secrets that prescribe a Live session: they open it over WebRTC, and nothing else."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from voiceagent.access.access_control import Admitted
from voiceagent.access.requester import NotAdmitted
from voiceagent.transports.live.protocol.session_object import MediaSessionConfig
from voiceagent.transports.realtime.protocol.errors import from_validation

LIVE = "live"
"""Type of such a session in requests for client secrets, beside "realtime" and "transcription"."""
_CODE = "wrong_client_secret"


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
        raise NotAdmitted(403, _CODE, message)
    return fields


def refuse_prescribed(caller: Admitted) -> None:
    """Raise NotAdmitted for a secret with a session: over WebSockets it would not be restricted."""
    if prescribed(caller):
        message = "this client secret prescribes a Live session over WebRTC; it opens no WebSocket"
        raise NotAdmitted(403, _CODE, message)


def refuse_live(caller: Admitted) -> None:
    """Raise NotAdmitted for a secret with a Live session, which opens no Realtime call."""
    if caller.session.get("type") == LIVE:
        message = "this client secret prescribes a Live session; it opens no call of the Realtime API"
        raise NotAdmitted(403, _CODE, message)
