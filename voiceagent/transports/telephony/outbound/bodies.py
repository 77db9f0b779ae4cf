"""Bodies of requests for outbound calls and campaigns."""

from __future__ import annotations

import re
from datetime import time
from typing import Annotated, Literal, Self, TypeVar
from zoneinfo import ZoneInfo

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from starlette.requests import ClientDisconnect, Request

from voiceagent.transports.telephony.outbound.campaigns import TICK_S
from voiceagent.transports.telephony.outbound.policies.campaign import CallingHours, Pacing
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.validation.errors import shorten

ShortText = Annotated[str, Field(max_length=200)]
Body = TypeVar("Body", bound=BaseModel)
KEY = re.compile(r"[!-~]{1,255}")
"""An idempotency key: visible ASCII."""

MAX_CALLS = 1_000
"""Calls of one campaign. Each change writes the whole campaign; larger lists are several campaigns."""
_TIME = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)


class CallBody(BaseModel):
    """The body of `POST /v1/calls`, and a call of a campaign."""

    model_config = ConfigDict(extra="forbid", strict=True)

    to: ShortText
    agent: ShortText = ""
    reason: Annotated[str, Field(max_length=1_000)] = ""
    provider: ShortText = ""
    parameters: Annotated[dict[ShortText, ShortText], Field(max_length=32)] = {}


def _time_of_day(given: object) -> time:
    try:
        if isinstance(given, str) and _TIME.fullmatch(given):
            return time.fromisoformat(given)
    except ValueError:
        pass
    raise PydanticCustomError("time_of_day", "no time of day; allowed: 00:00 to 23:59, such as 09:00")


_Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]


class _HoursBody(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    timezone: Annotated[str, Field(max_length=64)]
    begin: Annotated[time, BeforeValidator(_time_of_day)]
    end: Annotated[time, BeforeValidator(_time_of_day)]
    days: Annotated[list[_Day], Field(min_length=1)] = ["mon", "tue", "wed", "thu", "fri"]

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError) as error:
            allowed = "a name of the IANA database, such as America/New_York"
            raise PydanticCustomError(
                "timezone", "unknown time zone; allowed: {allowed}", {"allowed": allowed}
            ) from error
        return name

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.begin >= self.end:
            raise PydanticCustomError(
                "hours", "end is not after begin; allowed: hours of one day, in the zone of the people called"
            )
        return self


class CampaignBody(BaseModel):
    """The body of `POST /v1/campaigns`."""

    model_config = ConfigDict(extra="forbid", strict=True)

    calls: Annotated[list[CallBody], Field(min_length=1, max_length=MAX_CALLS)]
    hours: _HoursBody
    calls_per_minute: Annotated[float, Field(gt=0, le=60.0 / TICK_S)] = 6.0
    at_once: Annotated[int, Field(ge=1, le=1_000)] = 1
    attempts: Annotated[int, Field(ge=1, le=20)] = 3
    retry_s: Annotated[float, Field(ge=60, le=604_800)] = 1_800.0

    def pacing(self) -> Pacing:
        hours = self.hours
        calling = CallingHours(hours.timezone, hours.begin, hours.end, tuple(hours.days))
        return Pacing(calling, self.calls_per_minute, self.at_once, self.attempts, self.retry_s)


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
