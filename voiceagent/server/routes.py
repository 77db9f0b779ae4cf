"""Routes of a process that accepts calls."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.routing import BaseRoute, Mount, Route

from audio.synthesizers import known_voices
from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.access.auth import accepted_keys, access_rules
from voiceagent.access.calls import Calls
from voiceagent.access.client_secrets import ClientSecret
from voiceagent.access.requester import AccessRules
from voiceagent.access.slots import Slots
from voiceagent.agents.load import load_agents
from voiceagent.cluster.placing import GatewayReport
from voiceagent.cluster.redis_keys import CallControl
from voiceagent.config.tables import Config
from voiceagent.server.call_opener import CallOpener
from voiceagent.server.call_progress import CallReporting
from voiceagent.server.kept_calls import calls_routes, find_session, kept_calls
from voiceagent.server.page import Page
from voiceagent.server.sharing import Gateway, shared_state
from voiceagent.server.startup import webhook_sender
from voiceagent.server.status_routes import StatusRoutes, WholeServer
from voiceagent.session.call import CallRefused
from voiceagent.session.services import Services
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.live.client_secrets import SecretsEndpoint
from voiceagent.transports.live.forks import Forks
from voiceagent.transports.live.http import live_routes
from voiceagent.transports.live.sessions import LiveOptions, LiveSessions
from voiceagent.transports.live.webrtc import LiveWebRtcEndpoint
from voiceagent.transports.live.websocket import LiveEndpoint
from voiceagent.transports.realtime.http import (
    SingleSlashes,
    answering,
    refuse_request,
    under_realtime,
    under_v1,
    unknown_path,
)
from voiceagent.transports.realtime.sidebands.endpoint import Sidebands
from voiceagent.transports.realtime.sidebands.messages import Refused, Relayed, at_another_gateway
from voiceagent.transports.realtime.websocket import RealtimeEndpoint
from voiceagent.transports.relay import FromClient
from voiceagent.transports.telephony.outbound.build import dialer_of
from voiceagent.transports.telephony.outbound.dialer import Dialer, DialRules
from voiceagent.transports.telephony.outbound.endpoint import OutboundEndpoint
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.provider import Placement
from voiceagent.transports.telephony.resuming import PhoneStreams
from voiceagent.transports.telephony.routes import telephony_routes
from voiceagent.transports.webrtc.calls import WebRtcCalls
from voiceagent.transports.webrtc.endpoint import WebRtcEndpoint
from voiceagent.transports.webrtc.network import network
from voiceagent.transports.websocket import websocket_routes
from voiceagent.upstream.connection import Upstream


class Routes:
    """Routes and calls of one process. Raises ConfigError if the configuration is unusable."""

    def __init__(
        self,
        config: Config,
        slots: Slots,
        metrics: Metrics,
        server: WholeServer,
        reporting: CallReporting = CallReporting(),  # noqa: B008  it is immutable
    ) -> None:
        self._server = server
        self._settings = config.call_settings()
        self._agents = load_agents(config.agent, self._settings.instructions, config.source)
        self._limits = config.limits
        self.calls = Calls(slots, self._calls_changed, server.refusal)
        self._metrics = metrics
        self.kept = kept_calls(config, metrics)
        self.webhooks = webhook_sender(config, metrics, reporting.hand_over)
        self._reporting = reporting
        self._config = config
        self._voices: list[str] = []
        self._upstream: Upstream | None = None
        if config.upstream.url is not None:
            self._upstream = Upstream(config.upstream, os.environ, config.source, metrics.registry)
        rules = access_rules(config.server)
        self._gateway_url = config.cluster.gateway_url(os.environ, config.source)
        self.dialer = self._new_dialer()
        self.phone_streams = PhoneStreams(server.phone_stream)
        self._phone_lines = self._phone_routes(rules)
        keys = accepted_keys(config.server, config.source, os.environ)
        self._admission = Admission(
            keys, rules, config.limits, shares=slots.shares, wrong_keys=slots.wrong_keys
        )
        self.shared = shared_state(config, self._admission.secrets, metrics)
        if self.shared is not None:
            self._admission.others = self.shared
            self.shared.control_of = self._control_of
        self.sidebands = Sidebands(self.calls.find, self._admission, self._sideband_elsewhere, config.limits)
        ice = network(config.webrtc, os.environ, config.source)
        self._webrtc_calls = WebRtcCalls(ice, config.limits, metrics.datagrams_not_read.inc)
        self.webrtc = self._webrtc_endpoint()
        self.live = self._live_sessions()

    def _live_sessions(self) -> LiveSessions:
        options = LiveOptions(self._config.agent.filler, keeps_calls=self.kept is not None)
        opened = self.calls.open, self.calls.open_unstored
        return LiveSessions(*opened, self._admission, options, self._config.limits)

    def _webrtc_endpoint(self) -> WebRtcEndpoint:
        return WebRtcEndpoint(
            self.calls.open,
            self.calls.open_transcription,
            self._admission,
            self._webrtc_calls,
            self._hang_up_elsewhere,
            self._config.limits,
        )

    def _new_dialer(self) -> Dialer | None:
        config = self._config
        rules = DialRules(self.calls.check, self._agents.check_name, config.limits.max_call_s)
        where = os.environ, config.source, self._gateway_url
        return dialer_of(config.telephony, config.outbound, *where, rules, self._outbound_changed)

    def _phone_routes(self, rules: AccessRules) -> list[BaseRoute]:
        """Return the routes of the configured telephony providers."""
        return telephony_routes(
            self._config.telephony,
            self._config.server.host,
            self.calls.open,
            os.environ,
            self._config.source,
            self._limits,
            rules,
            Placement(
                self._next_call,
                self._gateway_url,
                self._agents.check_name,
                self.dialer,
                self._config.agent.connecting,
                self.phone_streams,
            ),
        )

    def app(self) -> Starlette:
        """Return the ASGI application."""
        realtime = RealtimeEndpoint(
            self.calls.open, self.calls.open_transcription, self._admission, self.sidebands, self._limits
        )
        secrets = SecretsEndpoint(self._admission, self._settings, self._share_secret, self._limits)
        status = StatusRoutes(self._server, self._admission, self._choices, self._gateways)
        page = Page()
        api = [
            Route("/calls", answering(self.webrtc.call), methods=["POST"]),
            Route("/calls/{call_id}/hangup", answering(self.webrtc.hang_up), methods=["POST"]),
            Route("/client_secrets", answering(secrets.create), methods=["POST"]),
        ]
        return Starlette(
            middleware=[Middleware(SingleSlashes)],
            exception_handlers={HTTPException: refuse_request},
            routes=[
                *status.routes(),
                *websocket_routes("/v1/realtime", realtime.serve),
                # before those of kept calls, which answer for all of /v1/calls where none are kept
                *OutboundEndpoint(self.dialer, self._admission).routes(),
                *calls_routes(self.kept, self._admission),
                *self._live_routes(),
                under_realtime(api, self._admission),
                *self._phone_lines,
                under_v1(api, self._admission),
                Route("/calls", page.calls),
                Route("/{path:path}", page, methods=["GET"]),
                Mount("", unknown_path(api)),
            ],
        )

    def _live_routes(self) -> list[BaseRoute]:
        shared = self.calls.check, self._admission, self._limits
        websocket = LiveEndpoint(self.live, *shared, self.sidebands)
        webrtc = LiveWebRtcEndpoint(self.live, self._webrtc_calls, *shared)
        find = partial(find_session, self.kept)
        forks = Forks(find, websocket, webrtc, self._admission, self._limits)
        return live_routes(self._admission, websocket, webrtc, forks, self._hang_up_elsewhere)

    def ready(self, services: Services) -> None:
        """Start accepting calls."""
        calls = CallOpener(
            self._config, self._agents, self._upstream, self.kept, self.webhooks, self._reporting
        )
        open_call = calls.opener(services)
        self._voices = list(known_voices(services.speaking.synthesizer).as_asked().names)
        self.calls.ready(open_call, partial(open_call, transcribes=True), partial(open_call, stored=False))

    def loop_stalled(self, clock_s: float, lag_s: float) -> None:
        """Record a stall of the event loop in the kept calls."""
        if self.kept is not None:
            self.kept.stalled(clock_s, lag_s)

    def problems(self) -> dict[str, str]:
        """Return problems of recording and of the state shared with other gateways; "" for a healthy one."""
        problems = {} if self.kept is None else {"kept_calls": self.kept.problem()}
        return problems if self.shared is None else problems | {"shared_state": self.shared.problem}

    def keep_secret(self, secret: ClientSecret) -> None:
        """Accept a client secret that another process issued."""
        self._admission.secrets.keep(secret, self._admission.clock())

    def sharing(self, gateway: Gateway | None = None) -> AbstractAsyncContextManager[None]:
        """Share state with the other gateways, if configured, for the length of the block; its end removes
        this process there. gateway: given if this process reports for the server.
        """
        if self.shared is None:
            return nullcontext()
        return self.shared.running(self.calls.ids, self._end, None if gateway is None else gateway.report)

    def end(self, asked: CallAsked) -> bool:
        """End a call of this process. Return True if the call runs or ran here and the caller may end it."""
        return self.live.end(asked) or self.webrtc.end(asked) or self._hang_up_here(asked)

    def _end(self, call_id: str) -> bool:
        return self.end(CallAsked(call_id))

    def _hang_up_here(self, asked: CallAsked) -> bool:
        return self._admission.may_control(asked) and self.calls.hang_up(asked.call_id)

    async def _hang_up_elsewhere(self, asked: CallAsked) -> bool:
        """End a call that is not one of this process's WebRTC calls. Return True if one was found."""
        if self.end(asked) or await self._server.hang_up(asked):
            return True
        if self.shared is None:
            return False
        if asked.secret and await self.shared.sideband_url(asked.call_id, asked.secret) is None:
            return False
        return await self.shared.hang_up(asked.call_id)

    def _control_of(self, call_id: str) -> CallControl:
        return CallControl(self._gateway_url or "", self._admission.opener(call_id))

    async def _sideband_elsewhere(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Attach to a call of another process of this server, or refuse with the URL of its gateway."""
        async with aclosing(self._server.sideband(asked, messages)) as values:
            async for value in values:
                refused = isinstance(value, Refused) and self.shared is not None
                yield await self._refusal_of_others(asked, value) if refused else value

    async def _refusal_of_others(self, asked: CallAsked, refused: Relayed) -> Relayed:
        assert self.shared is not None
        url = await self.shared.sideband_url(asked.call_id, asked.secret)
        return refused if url is None else at_another_gateway(asked, url)

    async def _share_secret(self, secret: ClientSecret) -> None:
        await self._server.share_secret(secret)
        await self._admission.others.keep_secret(secret)

    def _next_call(self) -> str | None:
        """Return the URL of the gateway for the next call; None for this one. Raises CallRefused."""
        refused, url = None, self._gateway_url
        try:
            self.calls.check()
        except CallRefused as error:
            refused = error
        chosen = None
        if self.shared is not None and url is not None:
            chosen = self.shared.place(url, takes_calls=refused is None)
        if chosen is None and refused is not None:
            raise refused
        return None if chosen is None else chosen.url

    def _outbound_changed(self, call: OutboundCall) -> None:
        if self.webhooks is not None:
            self.webhooks.status(call.to_json())

    def _calls_changed(self, calls: int) -> None:
        self._metrics.calls.set(calls)
        if self.shared is not None:
            self.shared.calls_changed()

    def _gateways(self) -> Sequence[GatewayReport]:
        return () if self.shared is None else self.shared.reports

    def _choices(self) -> dict[str, Any]:
        """Return the agents and voices that a client may name, and if calls are kept, for the page."""
        return {
            "agents": list(self._agents.named),
            "voices": self._voices,
            "keeps_calls": self.kept is not None,
        }
