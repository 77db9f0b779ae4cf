"""A sideband of a Live session: a second connection, which sees all events and may send most."""

from __future__ import annotations

from collections.abc import Sequence

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
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


class LiveSideband:
    """One sideband as a `ControlledCall`, which ends with the session. Attached on construction."""

    def __init__(self, call: Call, client: LiveClient, session: LiveCall) -> None:
        self.outbox: Outbox[str] = Outbox()
        self._call = call
        self._client = client
        self._session = session
        client.sidebands.append(self.outbox)

    @property
    def settings(self) -> CallSettings:
        """The settings in force."""
        return self._call.settings

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""
        return self._call.items

    def begin(self, greet: bool = True) -> None:
        """Do nothing: the session has begun."""

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Raise AssertionError: the audio of the session comes over its own connection."""
        raise AssertionError("a sideband has no audio")

    def handle(self, request: ev.ClientRequest) -> None:
        """Handle a request."""
        self._call.handle(request)

    def mcp_refusal(self, server: McpServer) -> str | None:
        """Return the reason why the client may not name this MCP server; None if it may."""
        return self._call.mcp_refusal(server)

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
