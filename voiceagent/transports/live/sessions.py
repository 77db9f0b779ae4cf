"""The running Live sessions of a process, over any transport, and the sidebands attached to them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple

from voiceagent.access.access_control import Admission, CallAsked
from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.history import Item
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import Call, OpenCall, new_id
from voiceagent.transports.connection import Ending
from voiceagent.transports.limits import USUAL_LIMITS, EventLimits, TransportLimits
from voiceagent.transports.live.call import LiveCall
from voiceagent.transports.live.client import LiveClient
from voiceagent.transports.live.protocol.client_events import AudioAppend, SessionStart
from voiceagent.transports.live.protocol.decode import decode
from voiceagent.transports.live.protocol.delegations import Delegations
from voiceagent.transports.live.protocol.encode import Encoder
from voiceagent.transports.live.protocol.session_object import ResponsesDelegation
from voiceagent.transports.live.protocol.settings import live_settings
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.sidebands.endpoint import Attached
from voiceagent.transports.realtime.sidebands.sideband import AttachedCall


class LiveSideband(AttachedCall):
    """One sideband as a `ControlledCall`, which ends with the session. Attached on construction."""

    def __init__(self, call: Call, client: LiveClient, session: LiveCall) -> None:
        super().__init__(call)
        self.outbox: Outbox[str] = Outbox()
        self._client = client
        self._session = session
        client.sidebands.append(self.outbox)

    def handle(self, request: ev.ClientRequest) -> None:
        self._call.handle(request)

    async def ended(self) -> str:
        """Wait until the session has sent its last event."""
        await self._session.finished.wait()
        return "the session has ended"

    async def close(self, reason: str, end_code: CallEndCode = "") -> None:
        """Detach from the session, which continues."""
        if self.outbox in self._client.sidebands:
            self._client.sidebands.remove(self.outbox)


class SidebandEvents:
    """The client events of one sideband: the `Handler` of its connection."""

    def __init__(
        self, sideband: LiveSideband, client: LiveClient, session: LiveCall, limits: EventLimits
    ) -> None:
        self._outbox = sideband.outbox
        self._client = client
        self._session = session
        self._limits = limits

    def begin(self) -> None:
        """Send the session in force, as the first event."""
        self._session.show_to(self._outbox)

    def take(self, message: str | bytes) -> None:
        """Carry out one event, as JSON text. Errors are sent to this sideband alone."""
        with self._client.answering(self._outbox):
            try:
                event = decode(message, self._limits)
                if isinstance(event, AudioAppend):
                    text = "the caller's audio comes over the session's own connection"
                    raise RequestError("invalid_value", text, "type", event.event_id)
                self._session.carry_out(event)
            except RequestError as error:
                self._session.refuse(error)

    def close(self) -> None:
        """Do nothing: there are no timers."""

    async def hang_up(self, ending: Ending) -> None:
        """Do nothing: the session has sent its last event."""


def attach(call: Call, client: LiveClient, session: LiveCall, limits: EventLimits) -> Attached:
    """Attach a sideband to a session."""
    sideband = LiveSideband(call, client, session)
    return Attached(sideband, sideband.outbox, SidebandEvents(sideband, client, session, limits))


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """Options of the sessions. phrase: automatic acknowledgement of a delegation, "" for none. keeps_calls:
    calls are recorded, so that `store` can be honoured.
    """

    phrase: str = ""
    keeps_calls: bool = False


class Start(NamedTuple):
    """The start of a session. event: the client's, with its configuration. history: conversation that it
    continues, in addition to the configuration's.
    """

    event: SessionStart
    history: tuple[Item, ...] = ()


class Stored(NamedTuple):
    """Settings and items with which a stored session ended; a new one may continue from them."""

    settings: CallSettings
    items: tuple[Item, ...]


FindStored = Callable[[str], Awaitable[Stored]]
"""Function that returns a stored session by its id. Raises RequestError if it cannot be continued."""


class LiveSessions:
    """The sessions of one process. open_call: opens a session with `store`. open_unstored: opens one that is
    not kept. limits: of each.
    """

    def __init__(
        self,
        open_call: OpenCall,
        open_unstored: OpenCall,
        admission: Admission,
        options: LiveOptions,
        limits: TransportLimits = USUAL_LIMITS,
    ) -> None:
        self._open_call = open_call
        self._open_unstored = open_unstored
        self._admission = admission
        self._options = options
        self._limits = limits
        self._sessions: dict[str, LiveCall] = {}

    def open(self, session_id: str, client: LiveClient, start: Start, traceparent: str) -> Call:
        """Open the call of a session. Raise RequestError, CallRefused."""
        session = start.event.session
        if session.store and not self._options.keeps_calls:
            message = "session.store is true, but this server keeps no calls ([calls]); leave it out"
            raise RequestError("not_supported", message, "session.store", start.event.event_id)
        opened = self._open_call if session.store else self._open_unstored
        call = opened(session_id, client, session.model)
        call.join_trace(traceparent)
        delegations = Delegations("client", session.model, new_id)
        if isinstance(session.delegation, ResponsesDelegation):
            delegations = Delegations(
                "responses", session.delegation.responses.model or session.model, new_id
            )
        client.encoder = Encoder(delegations, lambda: call.items, time.time())
        return call

    def prepare(
        self, session_id: str, call: Call, client: LiveClient, start: Start, end: Callable[[Ending], None]
    ) -> LiveCall:
        """Return a call's session, with its configuration. end: ends its connection. Raise RequestError."""
        expires_at = round(time.time() + self._limits.max_call_s)
        negotiated = client.output is not None
        settings = live_settings(session_id, expires_at, start.event, call.settings, negotiated)
        phrase = self._options.phrase
        session = LiveCall(call, client, settings, client.encoder.delegations, phrase, self._limits, end)
        session.prepare(start.history)
        self._sessions[session_id] = session
        client.open_sideband = lambda: attach(call, client, session, self._limits)
        return session

    def remove(self, session_id: str) -> None:
        """Remove a session that has ended, and send its last event to its sidebands."""
        self._sessions.pop(session_id).finish()

    def end(self, asked: CallAsked) -> bool:
        """End a session of this process. Return False if it is not here, or the caller may not end it."""
        session = self._sessions.get(asked.call_id)
        if session is None or not self._admission.may_control(asked):
            return False
        session.end(by_id=True)
        return True
