"""`/v1/realtime?call_id=`: attaches a WebSocket to a running call of any process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, suppress
from typing import NamedTuple, Protocol, runtime_checkable

import structlog
from starlette.websockets import WebSocket

from voiceagent.access.access_control import Admission, Admitted, CallAsked
from voiceagent.access.calls import OpenedCall
from voiceagent.processes.messages import RpcError
from voiceagent.session.call import ControlledCall
from voiceagent.transports.connection import Connection, Disconnected, Handler, Wire
from voiceagent.transports.limits import USUAL_LIMITS, TransportLimits
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.call import RealtimeCall
from voiceagent.transports.realtime.http import deny
from voiceagent.transports.realtime.resuming import NotKept, ResumableWire
from voiceagent.transports.realtime.sidebands.messages import Refused, Relay, Relayed, not_found
from voiceagent.transports.realtime.sidebands.sideband import Sideband
from voiceagent.transports.relay import (
    Accepted,
    FromClient,
    StreamWire,
    client_messages,
    send_values,
    serve_relayed,
)
from voiceagent.transports.websocket import WebSocketWire

log = structlog.get_logger()


class Attached(NamedTuple):
    """An attached sideband: its control of the call, its events, and the interpreter of its messages."""

    call: ControlledCall
    outbox: Outbox[str]
    handler: Handler


@runtime_checkable
class HasSidebands(Protocol):
    """A call's client whose sidebands speak its protocol. open_sideband: attaches one; None before the call
    has begun.
    """

    sidebands: list[Outbox[str]]
    open_sideband: Callable[[], Attached] | None


class Sidebands:
    """Server side of the sidebands of one process.

    find: returns a call of this process. elsewhere: attaches to a call of another process. limits: of each
    sideband, and the number of sidebands of a call.
    """

    def __init__(
        self,
        find: Callable[[str], OpenedCall | None],
        admission: Admission,
        elsewhere: Relay,
        limits: TransportLimits = USUAL_LIMITS,
    ) -> None:
        self._find = find
        self._admission = admission
        self._elsewhere = elsewhere
        self._limits = limits

    def has(self, asked: CallAsked) -> bool:
        """Return True if a call runs here and the caller may control it."""
        found = self._find(asked.call_id) is not None
        return found and self._admission.may_control(asked)

    async def serve(self, websocket: WebSocket, caller: Admitted, call_id: str) -> None:
        """Serve one connection of an authenticated caller, from its handshake to its end."""
        asked = CallAsked(call_id, caller.secret)
        wire = WebSocketWire(websocket, "realtime" if "realtime" in websocket.scope["subprotocols"] else None)
        if self._find(asked.call_id) is None:
            await self._relay(websocket, wire, asked)
        elif isinstance(attached := self._attach(asked), Refused):
            await deny(websocket, attached.status, attached.code, attached.message)
        else:
            await self._carry(wire, attached)

    async def resume(self, websocket: WebSocket, caller: Admitted, call_id: str, after: str) -> None:
        """Serve the new connection of the client of a call whose connection was lost. after: the last event
        that it received, "" for none.
        """
        asked = CallAsked(call_id, caller.secret, after)
        wire = WebSocketWire(websocket, "realtime" if "realtime" in websocket.scope["subprotocols"] else None)
        if self._find(call_id) is None:
            await self._relay(websocket, wire, asked)
            return
        resumed = self._resumable(asked)
        if isinstance(resumed, Refused):
            await _deny(websocket, resumed)
            return
        try:
            await resumed.carry(wire, after)
        except NotKept as error:
            await _deny(websocket, _not_kept(error))

    def _resumable(self, asked: CallAsked) -> ResumableWire | Refused:
        opened = self._find(asked.call_id)
        if opened is None or not self._admission.may_control(asked):
            return not_found(asked.call_id)
        own = opened.clients.own
        wire = getattr(own, "wire", None)
        if not isinstance(wire, ResumableWire):
            message = "this session cannot be resumed; only one that was opened with resume_s can"
            return Refused(409, "not_resumable", message)
        return wire

    async def serve_stream(
        self, asked: CallAsked, messages: AsyncIterator[FromClient]
    ) -> AsyncGenerator[Relayed, None]:
        """Serve one sideband whose connection is in another process."""
        attached = self._attach(asked) if asked.after is None else self._resumable(asked)
        if isinstance(attached, ResumableWire):
            try:
                attached.check(asked.after or "")
            except NotKept as error:
                attached = _not_kept(error)
        if isinstance(attached, Refused):
            yield attached
            return

        async def carry(wire: StreamWire) -> None:
            if isinstance(attached, ResumableWire):
                await attached.carry(wire, asked.after or "")
            else:
                await self._carry(wire, attached)

        async with aclosing(serve_relayed(messages, carry, "sideband")) as values:
            async for value in values:
                yield value

    def _attach(self, asked: CallAsked) -> Attached | Refused:
        opened = self._find(asked.call_id)
        if opened is None or not self._admission.may_control(asked):
            return not_found(asked.call_id)
        allowed, own = self._limits.max_sidebands, opened.clients.own
        if not isinstance(own, HasSidebands):
            count = len(opened.clients)
        elif own.open_sideband is None:
            return not_found(asked.call_id)
        else:
            count = len(own.sidebands)
        if count >= allowed:
            message = f"the call has {allowed} sidebands; allowed: at most {allowed}"
            return Refused(429, "too_many_sidebands", message)
        if isinstance(own, HasSidebands) and own.open_sideband is not None:
            return own.open_sideband()
        sideband = Sideband(asked.call_id, opened, self._limits.max_call_s)
        handler = RealtimeCall(
            sideband, sideband.events, {}, sound_apart=True, limits=self._limits, defaults=sideband.defaults
        )
        return Attached(sideband, sideband.events.outbox, handler)

    async def _carry(self, wire: Wire[str], attached: Attached) -> None:
        # a sideband may only listen until the call ends; pings detect whether it is connected
        idle_s = self._limits.max_call_s
        call = attached.call
        connection = Connection(wire, attached.outbox, call, limits=self._limits, idle_s=idle_s)
        if isinstance(call, Sideband):
            call.events.on_failure = connection.fail
        await connection.run(attached.handler)

    async def _relay(self, websocket: WebSocket, wire: WebSocketWire, asked: CallAsked) -> None:
        """Relay a connection's messages to the process that has the call, and the events back."""
        accepted = asyncio.Event()

        with suppress(Disconnected):
            try:
                async with aclosing(self._elsewhere(asked, client_messages(wire, accepted))) as values:
                    first = await anext(values, None)
                    if not isinstance(first, Accepted):
                        await _deny(
                            websocket, first if isinstance(first, Refused) else not_found(asked.call_id)
                        )
                        return
                    await wire.open()
                    accepted.set()
                    await send_values(wire, values)
            except RpcError as error:
                log.warning("sideband_lost", call=asked.call_id[:80], reason=str(error))
                if accepted.is_set():
                    await wire.close(1011, "the process that has the call does not answer")
                else:
                    message = "the server cannot answer now; try again in a moment"
                    await deny(websocket, 503, "unavailable", message)


async def _deny(websocket: WebSocket, refused: Refused) -> None:
    headers = {"location": refused.location} if refused.location else None
    await deny(websocket, refused.status, refused.code, refused.message, headers)


def _not_kept(error: NotKept) -> Refused:
    return Refused(409, "events_not_kept", str(error))
