"""HTTP interface of campaigns: `/v1/campaigns`."""

from __future__ import annotations

import re
from datetime import time
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from voiceagent.transports.telephony.outbound.bodies import CallBody, idempotency_key, read_model
from voiceagent.transports.telephony.outbound.campaigns import TICK_S, Campaigns
from voiceagent.transports.telephony.outbound.dialer import DialOrder
from voiceagent.transports.telephony.outbound.policies.campaign import CallingHours, Campaign, Pacing
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused

MAX_BODY_BYTES = 1_048_576
MAX_CALLS = 1_000
"""Calls of one campaign. Each change writes the whole campaign; larger lists are several campaigns."""

_TIME = re.compile(r"\d\d:\d\d(:\d\d)?", re.ASCII)


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


class _CampaignBody(BaseModel):
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


async def add_campaign(request: Request, campaigns: Campaigns) -> Response:
    """Answer `POST /v1/campaigns`. Raise DialRefused, CallRefused, OSError."""
    body = await read_model(request, _CampaignBody, MAX_BODY_BYTES)
    orders = [DialOrder(**call.model_dump()) for call in body.calls]
    campaign = await campaigns.add(orders, body.pacing(), idempotency_key(request))
    headers = {"location": f"/v1/campaigns/{campaign.campaign_id}"}
    return JSONResponse(campaign.to_json(), 201, headers)


async def show_campaign(request: Request, campaigns: Campaigns) -> Response:
    """Answer `GET /v1/campaigns/{id}`. Raise DialRefused, OSError."""
    campaign_id = request.path_params["campaign_id"]
    return _shown(campaign_id, await campaigns.find(campaign_id))


async def stop_campaign(request: Request, campaigns: Campaigns) -> Response:
    """Answer `POST /v1/campaigns/{id}/stop`. Raise DialRefused, OSError."""
    campaign_id = request.path_params["campaign_id"]
    return _shown(campaign_id, await campaigns.stop(campaign_id))


def _shown(campaign_id: str, campaign: Campaign | None) -> Response:
    if campaign is None:
        raise DialRefused("not_found", f"no campaign is {campaign_id[:80]}", 404)
    return JSONResponse(campaign.to_json(), headers={"cache-control": "no-store"})
