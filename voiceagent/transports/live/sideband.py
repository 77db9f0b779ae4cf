"""A sideband of a Live session: a second connection, which sees all events and may send most."""

from __future__ import annotations

from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import CallEndCode
from voiceagent.session.call import Call
from voiceagent.transports.connection import Ending
from voiceagent.transports.limits import EventLimits
from voiceagent.transports.live.call import LiveCall
from voiceagent.transports.live.client import LiveClient
from voiceagent.transports.live.protocol.client_events import AudioAppend
from voiceagent.transports.live.protocol.decode import decode
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
