"""Bodies of requests for outbound calls."""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.validation.errors import shorten

ShortText = Annotated[str, Field(max_length=200)]
Body = TypeVar("Body", bound=BaseModel)
KEY = re.compile(r"[!-~]{1,255}")
"""An idempotency key: visible ASCII."""


class CallBody(BaseModel):
    """The body of `POST /v1/calls`, and a call of a campaign."""

    model_config = ConfigDict(extra="forbid", strict=True)

    to: ShortText
    agent: ShortText = ""
    reason: Annotated[str, Field(max_length=1_000)] = ""
    provider: ShortText = ""
    parameters: Annotated[dict[ShortText, ShortText], Field(max_length=32)] = {}


def idempotency_key(request: Request) -> str:
    """Return the request's idempotency key, "" without one. Raise DialRefused for an empty one."""
    key = request.headers.get("idempotency-key")
    if key is not None and KEY.fullmatch(key) is None:
        message = f"Idempotency-Key is {shorten(key)}; allowed: 1 to 255 visible ASCII characters"
        raise DialRefused("invalid_value", message, 400)
    return key or ""


async def read_body(request: Request, max_bytes: int) -> bytes:
    """Return the body of a request, b"" if the client left. Raise DialRefused if it is too long."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > max_bytes:
                raise DialRefused("too_long", f"the body has more than {max_bytes} bytes", 413)
    except ClientDisconnect:
        return b""
    return bytes(body)


async def read_model(request: Request, model: type[Body], max_bytes: int) -> Body:
    """Return the validated body of a request. Raise DialRefused, which names the field."""
    body = await read_body(request, max_bytes)
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the body"
        wrong = f"{shorten(first['input'])}: {first['msg']}"
        message = f"{place} is {'missing' if first['type'] == 'missing' else wrong}"
        raise DialRefused("invalid_value", message, 400) from error
