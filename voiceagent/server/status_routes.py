"""The whole server as routes need it, and the routes about it: health, load, metrics, gateways, triage."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from llmcore.policies.admission import Refusal
from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.cluster.placing import GatewayReport
from voiceagent.server.status import TriageResult
from voiceagent.telemetry.metrics import CONTENT_TYPE
from voiceagent.transports.realtime.sidebands.messages import Relayed
from voiceagent.transports.relay import FromClient
from voiceagent.transports.websocket import address_of
from voiceagent.triage.page import POLICY, as_json, as_page

SERVING = ("ready", "degraded")
"""Health states in which calls are accepted."""

FOR_OWNERS = "this is for holders of an API key (server.api_keys_env)"


class WholeServer(Protocol):
    """Operations of the whole server that routes need."""

    def refusal(self, calls: int, answered: int | None) -> Refusal | None:
        """Return a refusal if one more call besides `calls` others would not be served in time, and count it.

        answered: number of the other calls that the LLM answers; None if this call only transcribes.
        """

    async def health(self) -> dict[str, Any]:
        """Return the body of `GET /health`."""

    async def load(self) -> dict[str, Any]:
        """Return the body of `GET /load`."""

    async def metrics_page(self) -> bytes:
        """Return the page for Prometheus."""

    async def triage(self) -> TriageResult:
        """Return the diagnosis of slow calls."""

    async def share_secret(self, secret: ClientSecret) -> None:
        """Make a client secret known to all processes that accept calls."""

    async def hang_up(self, asked: CallAsked) -> bool:
        """End a call of another process of this server. Return True if one had it."""

    def sideband(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Attach to a call of another process of this server: see `Relay`."""

    def phone_stream(self, name: str, messages: AsyncIterator[FromClient]) -> AsyncGenerator[Any, None]:
        """Continue a phone call of another process of this server: see `resuming.Elsewhere`."""


class StatusRoutes:
    """Routes about the server.

    choices: returns the agents and voices that a client may name, for the page. gateways: returns the newest
    report of each gateway known here.
    """

    def __init__(
        self,
        server: WholeServer,
        admission: Admission,
        choices: Callable[[], dict[str, Any]],
        gateways: Callable[[], Sequence[GatewayReport]],
    ) -> None:
        self._server = server
        self._admission = admission
        self._choices = choices
        self._reports = gateways

    def routes(self) -> list[Route]:
        return [
            Route("/health", self._health),
            Route("/load", self._load),
            Route("/gateways", self._for_owners(self._gateways)),
            Route("/metrics", self._for_owners(self._metrics)),
            Route("/triage", self._for_owners(self._triage)),
            Route("/triage.json", self._for_owners(self._triage_json)),
        ]

    def _for_owners(
        self, answer: Callable[[], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return an endpoint that answers 401 to requests without an API key."""

        async def answer_owner(request: Request) -> Response:
            if not self._is_owner(request):
                return PlainTextResponse(FOR_OWNERS, 401)
            return await answer()

        return answer_owner

    def _is_owner(self, request: Request) -> bool:
        return self._admission.may_see_details(request.headers, address_of(request))

    async def _health(self, request: Request) -> Response:
        """Return the health; to requests without an API key no more than its state."""
        health = await self._server.health()
        status = 200 if health["status"] in SERVING else 503
        if not self._is_owner(request):
            return JSONResponse({"status": health["status"]}, status)
        return JSONResponse(health | self._choices(), status)

    async def _load(self, _: Request) -> Response:
        """Answer a load balancer: 503 with Retry-After while a new call would be refused."""
        load = await self._server.load()
        if load["takes_calls"]:
            return JSONResponse(load)
        return JSONResponse(load, 503, {"retry-after": str(math.ceil(load["retry_after_s"]))})

    async def _gateways(self) -> Response:
        return JSONResponse({"gateways": [report.to_json() for report in self._reports()]})

    async def _metrics(self) -> Response:
        return Response(await self._server.metrics_page(), media_type=CONTENT_TYPE)

    async def _triage(self) -> Response:
        page = as_page(*await self._server.triage())
        return HTMLResponse(page, headers={"content-security-policy": POLICY, "cache-control": "no-store"})

    async def _triage_json(self) -> Response:
        return JSONResponse(as_json(*await self._server.triage()))
