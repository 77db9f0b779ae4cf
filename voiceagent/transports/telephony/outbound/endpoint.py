"""HTTP interface of outbound calls and campaigns, and the providers' webhooks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import ceil
from typing import Any

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from voiceagent.access.access_control import Admission
from voiceagent.access.requester import NotAdmitted
from voiceagent.session.call import CallRefused
from voiceagent.transports.telephony.outbound.bodies import (
    CallBody,
    CampaignBody,
    idempotency_key,
    read_body,
    read_model,
)
from voiceagent.transports.telephony.outbound.campaigns import Campaigns
from voiceagent.transports.telephony.outbound.carriers.carrier import Delivery, InvalidReport, NotGenuine
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialOrder
from voiceagent.transports.telephony.outbound.policies.campaign import Campaign
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.websocket import address_of

log = structlog.get_logger()

MAX_BODY_BYTES = 65_536
MAX_CAMPAIGN_BYTES = 1_048_576


class OutboundEndpoint:
    """Serves outbound calls. dialer: None if `[outbound]` places none. admission: of API keys."""

    def __init__(self, dialer: Dialer | None, admission: Admission) -> None:
        self._dialer = dialer
        self._admission = admission

    def routes(self) -> list[BaseRoute]:
        """Return the routes. They must precede those of kept calls and of telephony streams."""
        return [
            Route("/v1/calls", self._answering(self._place), methods=["POST"]),
            Route("/v1/calls/{call_id}/status", self._answering(self._status), methods=["GET"]),
            Route("/v1/calls/{call_id}/hangup", self._answering(self._hang_up), methods=["POST"]),
            Route("/v1/campaigns", self._answering(self._add_campaign), methods=["POST"]),
            Route("/v1/campaigns/{campaign_id}", self._answering(self._campaign), methods=["GET"]),
            Route("/v1/campaigns/{campaign_id}/stop", self._answering(self._stop_campaign), methods=["POST"]),
            Route("/telephony/{provider}/outbound/{call_id}/{event}", self._webhook, methods=["POST"]),
        ]

    def _answering(self, answer: Callable[[Request, Dialer], Awaitable[Response]]) -> Any:
        """Return the endpoint of a route for holders of an API key, with exceptions as error responses."""

        async def answered(request: Request) -> Response:
            try:
                self._admission.admit_operator(request.headers, address_of(request))
                if self._dialer is None:
                    message = "this server places no calls: outbound.allow and outbound.numbers are not set"
                    return _error(403, "outbound_off", message)
                return await answer(request, self._dialer)
            except NotAdmitted as refused:
                return _error(refused.status, refused.code, str(refused))
            except DialRefused as refused:
                return _error(refused.status, refused.code, str(refused), refused.retry_after_s)
            except CallRefused as refused:
                return _error(refused.status, "call_refused", str(refused), refused.retry_after_s)
            except OSError as error:
                log.error("outbound_store_failed", reason=str(error))
                return _error(503, "unavailable", "outbound calls cannot be stored now; the log says why")

        return answered

    async def _place(self, request: Request, dialer: Dialer) -> Response:
        key = idempotency_key(request)
        wanted = await read_model(request, CallBody, MAX_BODY_BYTES)
        call = await dialer.place(DialOrder(**wanted.model_dump()), key)
        return JSONResponse(call.to_json(), 201, {"location": f"/v1/calls/{call.call_id}/status"})

    async def _status(self, request: Request, dialer: Dialer) -> Response:
        call_id = request.path_params["call_id"]
        return _shown(f"outbound call is {call_id[:80]}", await dialer.find(call_id))

    async def _hang_up(self, request: Request, dialer: Dialer) -> Response:
        call_id = request.path_params["call_id"]
        return _shown(f"outbound call is {call_id[:80]}", await dialer.hang_up(call_id))

    async def _add_campaign(self, request: Request, dialer: Dialer) -> Response:
        body = await read_model(request, CampaignBody, MAX_CAMPAIGN_BYTES)
        orders = [DialOrder(**call.model_dump()) for call in body.calls]
        campaign = await Campaigns(dialer).add(orders, body.pacing(), idempotency_key(request))
        location = f"/v1/campaigns/{campaign.campaign_id}"
        return JSONResponse(campaign.to_json(), 201, {"location": location})

    async def _campaign(self, request: Request, dialer: Dialer) -> Response:
        campaign_id = request.path_params["campaign_id"]
        return _shown(f"campaign is {campaign_id[:80]}", await Campaigns(dialer).find(campaign_id))

    async def _stop_campaign(self, request: Request, dialer: Dialer) -> Response:
        campaign_id = request.path_params["campaign_id"]
        return _shown(f"campaign is {campaign_id[:80]}", await Campaigns(dialer).stop(campaign_id))

    async def _webhook(self, request: Request) -> Response:
        if self._dialer is None:
            return _error(404, "not_found", "this server places no calls")
        try:
            body = await read_body(request, MAX_BODY_BYTES)
        except DialRefused as refused:
            return _error(refused.status, refused.code, str(refused))
        provider, call_id = request.path_params["provider"], request.path_params["call_id"]
        query = f"?{request.url.query}" if request.url.query else ""
        url = f"{self._dialer.url}{request.url.path}{query}"
        delivery = Delivery(url, body, request.headers, self._dialer.clock())
        try:
            text = await self._dialer.on_webhook(provider, call_id, delivery)
        except NotGenuine as refused:
            log.warning("webhook_refused", url=url[:200], reason=str(refused))
            return _error(403, "not_genuine", f"the webhook is refused: {refused}")
        except InvalidReport as error:
            log.warning("webhook_invalid", provider=provider, reason=str(error))
            return _error(400, "invalid_value", str(error))
        except OSError as error:
            log.error("outbound_store_failed", reason=str(error))
            return _error(503, "unavailable", "the report cannot be stored now")
        if text is None:
            return _error(404, "not_found", f"no outbound call is {call_id[:80]}")
        media_type = "text/xml" if text.startswith("<") else "application/json"
        return Response(text, media_type=media_type) if text else Response(status_code=204)


def _shown(name: str, found: OutboundCall | Campaign | None) -> Response:
    """Return the found call or campaign. name: its kind and id, for the error."""
    if found is None:
        return _error(404, "not_found", f"no {name}")
    return JSONResponse(found.to_json(), headers={"cache-control": "no-store"})


def _error(status: int, code: str, message: str, retry_after_s: float | None = None) -> Response:
    headers = {} if retry_after_s is None else {"retry-after": str(ceil(retry_after_s))}
    error = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
    return JSONResponse({"error": error}, status, headers)
