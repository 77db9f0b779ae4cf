"""The HTTP side of WebRTC calls, with scripted calls behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from call_settings import call_settings
from scripted_call import ScriptedCall
from starlette.applications import Starlette
from starlette.routing import Route

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.session.call import CallRefused, Client
from voiceagent.transports.live.client_secrets import SecretsEndpoint
from voiceagent.transports.realtime.http import answering, under_realtime
from voiceagent.transports.webrtc.calls import WebRtcCalls
from voiceagent.transports.webrtc.endpoint import WebRtcEndpoint
from voiceagent.transports.webrtc.network import Network

ANYWHERE = Network()


class Site:
    """The endpoints with scripted calls behind them. full: no call is taken."""

    def __init__(self, admission: Admission, network: Network = ANYWHERE, full: bool = False) -> None:
        self.calls: list[ScriptedCall] = []
        self.shared: list[str] = []
        self._full = full
        webrtc = WebRtcEndpoint(
            self._open_call, self._open_call, admission, WebRtcCalls(network), self._hang_up_elsewhere
        )
        secrets = SecretsEndpoint(admission, call_settings(instructions="Be kind."), self._share)
        routes = [
            Route("/calls", answering(webrtc.call), methods=["POST"]),
            Route("/calls/{call_id}/hangup", answering(webrtc.hang_up), methods=["POST"]),
            Route("/client_secrets", answering(secrets.create), methods=["POST"]),
        ]
        self.app = Starlette(routes=[under_realtime(routes, admission)])

    def _open_call(self, call_id: str, client: Client, model: str) -> ScriptedCall:
        if self._full:
            raise CallRefused("all 1 calls are taken; try again later")
        self.calls.append(ScriptedCall(call_id, client, model))
        return self.calls[-1]

    async def _share(self, secret: ClientSecret) -> None:
        self.shared.append(secret.value)

    async def _hang_up_elsewhere(self, asked: CallAsked) -> bool:
        return asked.call_id == "rtc_elsewhere"


@asynccontextmanager
async def browsing(site: Site) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the site; calls that are still open end with it."""
    transport = httpx.ASGITransport(site.app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here.example") as http:
        yield http
    for call in site.calls:
        call.over.set()
        await call.gone.wait()
    async with asyncio.timeout(30):
        while any(task.get_name().startswith("webrtc") for task in asyncio.all_tasks()):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
