"""`/telephony/<provider>`: a phone call over a WebSocket, in the provider's protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import structlog
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocket

from voiceagent.access.requester import AccessRules, NotAdmitted
from voiceagent.session.agent import OutboundDetails
from voiceagent.session.call import CallRefused, OpenCall, new_id
from voiceagent.transports.connection import Connection
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall
from voiceagent.transports.telephony.outbound.warm_transfer import Briefing
from voiceagent.transports.telephony.phone_call import LineOptions, PhoneCall
from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.provider import PhoneLine, Placement
from voiceagent.transports.telephony.resuming import PhoneStream
from voiceagent.transports.telephony.stream.public_url import websocket_url
from voiceagent.transports.telephony.stream.serializer import Message
from voiceagent.transports.telephony.webhook import requested_url
from voiceagent.transports.websocket import WebSocketWire, address_of

log = structlog.get_logger()

LINE_CALL = "line_call"
"""Parameter of the URL: the call's id at its provider, or any other text that only this call has."""


def with_plus(parameters: Mapping[str, str]) -> dict[str, str]:
    """Restore the plus of numbers whose sender did not escape it: in a query it stands for a space."""
    return {
        name: f"+{value[1:]}" if value[:1] == " " and value[1:].isdigit() else value
        for name, value in parameters.items()
    }


def agent_parameters(call: OutboundCall) -> dict[str, str]:
    """Return the metadata of an outbound call for its agent."""
    known = {"direction": "outbound", "to": call.to, "from": call.caller}
    named = {name: value for name, value in (("reason", call.reason), ("agent", call.agent)) if value}
    return {**call.parameters, **known, **named}


class TelephonyEndpoint:
    """Endpoint of one provider's calls. public_urls: the server's URLs; None for the one in a proxy's
    headers. limits: of each call. rules: for handshakes, if the provider has no key. placement:
    chooses the agent, and knows the outbound calls.
    """

    def __init__(
        self,
        open_call: OpenCall,
        line: PhoneLine,
        options: LineOptions,
        public_urls: tuple[str | None, ...],
        limits: TransportLimits,
        rules: AccessRules,
        placement: Placement,
    ) -> None:
        self._open_call = open_call
        self._line = line
        self._options = options
        self._public_urls = public_urls
        self._limits = limits
        self._rules = rules
        self._check_agent = placement.check_agent
        self._dialer = placement.dialer
        self._streams = placement.streams

    async def serve(self, websocket: WebSocket) -> None:
        """Serve one connection, from its handshake to the end of its call: the endpoint of a
        `WebSocketRoute`. From lines whose connections all have one path, `outbound_call` in the query is
        the id of an outbound call, and `line_call` that of a call which another stream may continue.
        """
        if (call_id := websocket.query_params.get("outbound_call")) is not None:
            await self._serve_outbound(websocket, call_id)
            return
        why = self._refusal_reason(websocket)
        if why is not None:
            await self._refuse(websocket, why)
            return
        # Some providers strip the query of a URL.
        known = with_plus(websocket.query_params) | websocket.path_params
        line_call = known.pop(LINE_CALL, "")
        # without a key, anyone could take a call over
        name = f"{self._options.provider}/{line_call}" if line_call and self._line.trusts is not None else ""
        if not name or not await self._streams.resume(WebSocketWire(websocket), name):
            await self._serve_call(websocket, new_id("call"), known, self._options, name)

    async def serve_outbound(self, websocket: WebSocket) -> None:
        """Serve the stream of an outbound call that was answered: its path ends with the call's id."""
        await self._serve_outbound(websocket, websocket.path_params["call_id"])

    async def _serve_outbound(self, websocket: WebSocket, call_id: str) -> None:
        why = self._refusal_reason(websocket)
        name = f"{self._options.provider}/outbound/{call_id}" if self._line.reopens_streams else ""
        call = None
        if why is None and self._dialer is not None:
            call = await self._dialer.connect(call_id, self._options.provider)
        resumes = why is None and call is None and name != ""
        if resumes and await self._streams.resume(WebSocketWire(websocket), name):
            return
        if call is None or self._dialer is None:
            why = why or f"no outbound call {call_id[:80]} waits for its stream"
            await self._refuse(websocket, why)
            return
        outbound = OutboundDetails(call.to, call.caller, call.reason, call.line_call)
        options = replace(self._options, outbound=outbound)
        if call.joins:
            options = replace(options, tools=False, briefing=Briefing(self._dialer, call))
            name = ""
        try:
            await self._serve_call(websocket, call_id, agent_parameters(call), options, name)
        finally:
            await self._dialer.end_stream(call_id)

    async def _serve_call(
        self,
        websocket: WebSocket,
        call_id: str,
        known: Mapping[str, str],
        options: LineOptions,
        name: str = "",
    ) -> None:
        """Serve a call. name: of its stream, if another one can continue it."""
        client = PhoneClient(call_id, self._line.new_serializer())
        try:
            if "agent" in websocket.path_params:
                self._check_agent(websocket.path_params["agent"])
            call = self._open_call(call_id, client, known.get("agent", ""))
        except CallRefused as refused:
            log.warning("call_refused", provider=options.provider, reason=str(refused))
            answer = PlainTextResponse(str(refused), refused.status, refused.headers)
            await websocket.send_denial_response(answer)
            return
        call.join_trace(websocket.headers.get("traceparent", ""))
        wire = WebSocketWire(websocket)
        outbound = options.outbound is not None
        stream = PhoneStream(wire, call, self._line.new_serializer, outbound) if name else None
        connection: Connection[Message] = Connection(
            stream or wire, client.outbox, call, 1000, self._limits, self._limits.max_phone_idle_s
        )
        handler = PhoneCall(call_id, call, client, options, known, connection.end)
        if stream is None:
            await connection.run(handler)
            return
        stream.phone_call = handler
        with self._streams.running(name, stream):
            await connection.run(handler)

    async def _refuse(self, websocket: WebSocket, why: str) -> None:
        log.warning("handshake_refused", provider=self._options.provider, reason=why)
        await websocket.send_denial_response(PlainTextResponse(why, 403))

    def _refusal_reason(self, websocket: WebSocket) -> str | None:
        """Return why a handshake is refused; None if it is accepted."""
        headers = websocket.headers
        if self._line.trusts is None:
            try:
                self._rules.check(headers, address_of(websocket))
            except NotAdmitted as refused:
                return str(refused)
            return None
        urls = [websocket_url(requested_url(websocket, public_url)) for public_url in self._public_urls]
        if any(self._line.trusts(url, headers) for url in urls):
            return None
        return f"the handshake for {urls[0]} does not prove that it comes from {self._options.provider}"
