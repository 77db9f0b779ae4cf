"""Places calls and follows their status."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

import structlog

from voiceagent.session.call import new_id
from voiceagent.telemetry.log import Personal
from voiceagent.transports.telephony.control import ControlError, RestRequest, send
from voiceagent.transports.telephony.outbound.carriers.carrier import (
    AGAIN,
    Carrier,
    Delivery,
    Dial,
    NotGenuine,
    Report,
)
from voiceagent.transports.telephony.outbound.config import OutboundConfig
from voiceagent.transports.telephony.outbound.policies.limits import DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import Joining, OutboundCall, Status
from voiceagent.transports.telephony.outbound.store import DAY_S, OutboundStore
from voiceagent.transports.telephony.stream.public_url import websocket_url

log = structlog.get_logger()

CHECK_S = 5.0
"""Interval at which calls without a report are looked for."""


@dataclass(frozen=True, slots=True)
class DialOrder:
    """A request for an outbound call. provider: "" for the default one. brief, joins: of a warm transfer.
    Others as in `OutboundCall`.
    """

    to: str
    agent: str = ""
    reason: str = ""
    provider: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    brief: str = ""
    joins: str = ""


@dataclass(frozen=True, slots=True)
class DialRules:
    """Conditions of a server for outbound calls. check_capacity: raises CallRefused while the server takes no
    more calls. check_agent: raises CallRefused if no agent has the name. max_call_s: maximum length of a
    call.
    """

    check_capacity: Callable[[], None]
    check_agent: Callable[[str], None]
    max_call_s: float


class Dialer:
    """Places calls through the configured providers.

    carriers: providers by name. url: base URL at which providers reach this server. publish: called with each
    call whose status has changed. clock: returns Unix seconds.
    """

    def __init__(
        self,
        table: OutboundConfig,
        carriers: Mapping[str, Carrier],
        store: OutboundStore,
        url: str,
        rules: DialRules,
        publish: Callable[[OutboundCall], None],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.table = table
        self.store = store
        self.clock = clock
        self.url = url.rstrip("/")
        self._carriers = carriers
        self._rules = rules
        self._publish = publish

    async def place(self, order: DialOrder, key: str = "") -> OutboundCall:
        """Place a call and return it once the provider has answered the request. key: idempotency key, ""
        for none. Raise DialRefused, CallRefused, OSError.
        """
        call = self.new_call(order)
        self.check_capacity()
        wish = [order.to, order.agent, order.reason, order.provider, dict(order.parameters)]
        request = sha256(json.dumps(wish, sort_keys=True).encode()).hexdigest()
        call, is_new = await asyncio.to_thread(self.store.add, call, self.table.limits, key, request)
        if not is_new:
            return call
        self.publish(call)
        return await self.dial(call)

    def check_capacity(self) -> None:
        """Raise CallRefused while the server takes no more calls."""
        self._rules.check_capacity()

    def new_call(self, order: DialOrder) -> OutboundCall:
        """Return a new call for an order, without placing it. Raise DialRefused, CallRefused."""
        self.table.limits.check_number(order.to)
        provider = order.provider or next(iter(self._carriers))
        if provider not in self._carriers:
            message = f"provider is {provider[:40]!r}; allowed: {', '.join(self._carriers)}"
            raise DialRefused("unknown_provider", message, 400)
        if order.agent:
            self._rules.check_agent(order.agent)
        now_s = self.clock()
        return OutboundCall(
            new_id("call"),
            order.to,
            self.table.numbers[provider],
            provider,
            order.agent,
            order.reason,
            order.parameters,
            created_s=now_s,
            changed_s=now_s,
            brief=order.brief,
            joins=order.joins,
            joining=Joining.BRIEFING if order.joins else Joining.NONE,
        )

    async def dial(self, call: OutboundCall) -> OutboundCall:
        """Send the provider's request for a stored call, and return the call."""
        carrier = self._carriers[call.provider]
        try:
            answer = await send(carrier.request(self._dial_of(call)))
        except ControlError as error:
            log.warning("dial_failed", call=call.call_id, provider=call.provider, reason=str(error))
            if not error.refused:  # it may ring all the same: webhooks or the lack of them will tell
                return call
            return await self._report(call.call_id, Status.FAILED, str(error)) or call
        line_call = carrier.line_call(answer)
        _, after = await asyncio.to_thread(
            self.store.change, call.call_id, lambda one: replace(one, line_call=one.line_call or line_call)
        )
        return after or call

    async def hang_up(self, call_id: str) -> OutboundCall | None:
        """Let the provider end a call, and return it; None if there is none with this id. Its status changes
        with the provider's report. Raise DialRefused, OSError.
        """
        call = await self.find(call_id)
        if call is None or call.status.is_final:
            return call
        if not call.line_call:
            message = "the provider has not answered the request for the call yet"
            raise DialRefused("not_placed_yet", message, 409, 1.0)
        try:
            await send(self._carriers[call.provider].hang_up(call.line_call))
        except ControlError as error:
            log.warning("hang_up_failed", call=call_id, reason=str(error))
            raise DialRefused("hang_up_failed", f"the provider did not end the call: {error}", 502) from error
        return call

    async def find(self, call_id: str) -> OutboundCall | None:
        """Return the call with this id, None if there is none. Raise OSError."""
        return await asyncio.to_thread(self.store.find, call_id)

    async def on_webhook(self, provider: str, call_id: str, delivery: Delivery) -> str | None:
        """Handle a webhook of a call. Return the text of the answer, or "" for none; None if there is no such
        call. Raise NotGenuine for one without signature and for a replay, InvalidReport, OSError.
        """
        carrier = self._carriers.get(provider)
        call = await self.find(call_id)
        if carrier is None or call is None or call.provider != provider:
            return None
        report = carrier.read(delivery)
        if call.line_call and report.line_call not in ("", call.line_call):
            raise NotGenuine(f"it is about the call {report.line_call[:80]}, not {call.line_call}")
        digest = sha256(f"{provider} {report.identity}".encode()).hexdigest()
        now_s = self.clock()
        changed = await asyncio.to_thread(
            self.store.change_once, call_id, digest, now_s, lambda one: _after(report, one, now_s)
        )
        if changed is None:
            raise NotGenuine("it was received before")
        self._publish_change(*changed)
        before, after = changed
        if before is not None and after is not None and after.reopened > before.reopened:
            return await self._reopen(carrier, after)
        return carrier.instructions(self._dial_of(call))

    async def _reopen(self, carrier: Carrier, call: OutboundCall) -> str:
        """Let the provider open the stream of a call again. Return the text of the answer."""
        log.info("stream_reopened", call=call.call_id, provider=call.provider, times=call.reopened)
        how = carrier.reopen(self._dial_of(call), call.line_call)
        if not isinstance(how, RestRequest):
            return how
        try:
            await send(how)
        except ControlError as error:  # such as for a call that has just ended
            log.warning("stream_not_reopened", call=call.call_id, reason=str(error))
        return ""

    async def connect(self, call_id: str, provider: str) -> OutboundCall | None:
        """Return the call that an audio stream connects to; None if it is not the first. Raise OSError."""
        now_s = self.clock()

        def connected(call: OutboundCall) -> OutboundCall | None:
            return call.connect(now_s) if call.provider == provider else None

        before, after = await asyncio.to_thread(self.store.change, call_id, connected)
        self._publish_change(before, after)
        return after

    async def change_transfer(
        self, call_id: str, change: Callable[[OutboundCall], OutboundCall | None]
    ) -> OutboundCall | None:
        """Change the warm transfer of a call. Return the call, None if `change` did. Raise OSError."""
        _, after = await asyncio.to_thread(self.store.change, call_id, change)
        return after

    async def end_stream(self, call_id: str) -> None:
        """Record that the agent's call is over. A colleague who was connected to a caller speaks on,
        until the provider reports the end.
        """
        call = await self.find(call_id)
        if call is None or call.joining is not Joining.JOINED:
            await self._report(call_id, Status.COMPLETED, "")

    async def run(self) -> None:
        """Look for calls without a report, and for old ones, until cancelled."""
        while True:
            try:
                await self._clean_up(self.clock())
            except OSError as error:
                log.error("outbound_store_failed", reason=str(error))
            await asyncio.sleep(CHECK_S)

    async def _clean_up(self, now_s: float) -> None:
        ring_s, max_call_s = float(self.table.ring_s), self._rules.max_call_s
        expired = await asyncio.to_thread(
            self.store.change_running, lambda call: call.expire(ring_s, max_call_s, now_s)
        )
        for call in expired:
            self.publish(call)
        await asyncio.to_thread(self.store.delete_before, now_s - self.table.retention_days * DAY_S)

    def publish(self, call: OutboundCall) -> None:
        """Log and publish the status of a call."""
        log.info(
            "outbound_call",
            call=call.call_id,
            provider=call.provider,
            to=Personal(call.to),
            status=call.status.value,
            cause=call.cause[:200],
        )
        self._publish(call)

    def _dial_of(self, call: OutboundCall) -> Dial:
        url = f"{self.url}/telephony/{call.provider}/outbound/{call.call_id}"
        return Dial(call.call_id, call.to, call.caller, url, websocket_url(url), self.table.ring_s)

    async def _report(self, call_id: str, status: Status, cause: str) -> OutboundCall | None:
        now_s = self.clock()
        before, after = await asyncio.to_thread(
            self.store.change, call_id, lambda call: call.apply_report(status, cause, now_s)
        )
        self._publish_change(before, after)
        return after

    def _publish_change(self, before: OutboundCall | None, after: OutboundCall | None) -> None:
        if before is not None and after is not None and before.status is not after.status:
            self.publish(after)


def _after(report: Report, call: OutboundCall, now_s: float) -> OutboundCall:
    """Return a call after a webhook's report."""
    call = replace(call, line_call=call.line_call or report.line_call)
    if report.stream_lost:
        call = call.reopen(AGAIN)
    if report.answered:  # the report of the answer may come later, or never
        call = call.apply_report(Status.ANSWERED, report.cause, now_s)
    return call if report.status is None else call.apply_report(report.status, report.cause, now_s)
