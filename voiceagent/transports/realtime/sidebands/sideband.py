"""One sideband: its control of the call, and the events sent to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import structlog

from audio.pcm import Samples
from voiceagent.access.calls import OpenedCall
from voiceagent.calls.log.timeline import REQUESTS
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import CallEndCode
from voiceagent.conversation.history import Item
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import Call, conversation_id
from voiceagent.session.call_clients import MAX_HELD, SoundChange
from voiceagent.transports.limits import Allowance
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.encode import Encoder, to_json
from voiceagent.transports.realtime.protocol.response import ServerEvent

log = structlog.get_logger()

LOGGED_PER_S = 10
"""Logged requests of one sideband per second in the long run; bursts of up to four seconds' worth."""


class SidebandEvents:
    """Encoder and queue of a call's events for one sideband: a `SidebandClient`.

    expires_at: latest end of the call, Unix seconds. on_failure: ends the connection because of the exception
    that is being handled.
    """

    def __init__(self, call_id: str, expires_at: int) -> None:
        self.outbox: Outbox[str] = Outbox()
        self.on_failure: Callable[[], None] = lambda: None
        self._encoder = Encoder(call_id, conversation_id(call_id), expires_at)
        self._created = False

    def notify(self, notification: notify.Notification) -> None:
        """Send a notification to the client."""
        if isinstance(notification, notify.NotifySettings) and notification.created:
            # attached before the call began: the client has the session already
            if self._created and notification.settings == self._encoder.settings:
                return
            notification = replace(notification, created=not self._created)
            self._created = True
        for event in self._encoder.encode(notification):
            self._put(event)

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""
        self._put(self._encoder.encode_report(turn))

    def sound_changed(self, change: SoundChange, response_id: str) -> None:
        """Notify the client that a response's audio began, ended, or was dropped."""
        self._put(self._encoder.encode_output_buffer(change, response_id))

    def fail(self) -> None:
        """End the connection because of the exception that is being handled."""
        self.on_failure()

    def _put(self, event: ServerEvent) -> None:
        self.outbox.put(to_json(event))


class AttachedCall:
    """A running call as a second connection controls it. The first one begins it and has its audio."""

    def __init__(self, call: Call) -> None:
        self._call = call

    @property
    def settings(self) -> CallSettings:
        """The settings in force."""
        return self._call.settings

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""
        return self._call.items

    def begin(self, greet: bool = True) -> None:
        """Do nothing: the call begins with its own client."""

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Raise AssertionError: the audio of the call comes from its own client."""
        raise AssertionError("a sideband has no sound")

    def mcp_refusal(self, server: McpServer) -> str | None:
        """Return the reason why the client may not name this MCP server; None if it may."""
        return self._call.mcp_refusal(server)


class Sideband(AttachedCall):
    """A call as one sideband controls it: a `ControlledCall`, attached on construction.

    defaults: the settings that the call was opened with. max_call_s: maximum length of the call.
    """

    def __init__(self, call_id: str, opened: OpenedCall, max_call_s: float) -> None:
        super().__init__(opened.call)
        self.events = SidebandEvents(call_id, round(opened.opened_at + max_call_s))
        self.defaults = opened.defaults
        self._clients = opened.clients
        self._attached = True
        self._number = self._clients.attach(self.events, opened.call.settings)
        self._logged = Allowance(LOGGED_PER_S, time.monotonic())
        self._log = log.bind(call=call_id, sideband=self._number)
        self._log.info("sideband_attached")

    def handle(self, request: ev.ClientRequest) -> None:
        """Handle a request. Before the caller connects, a spoken response is queued until then; one of text
        is not, as at OpenAI.
        """
        request = replace(request, sideband=self._number)
        if isinstance(request, ev.ResponseRequested) and self._waits_for_caller(request):
            self._hold(request)
        else:
            self._carry_out(request)

    async def ended(self) -> str:
        """Wait until the call has ended. Return the reason to close its sidebands with."""
        await self._call.ended()
        return "the call has ended"

    async def close(self, reason: str, end_code: CallEndCode = "") -> None:
        """Detach from the call, which continues."""
        if self._attached:
            self._attached = False
            self._clients.detach(self._number)
            self._log.info("sideband_detached", reason=reason)

    def _waits_for_caller(self, request: ev.ResponseRequested) -> bool:
        """Return True if the response is to be spoken and the caller is not connected yet."""
        modality = request.modality or self._call.settings.output_modality
        return modality == "audio" and not self._clients.begun

    def _hold(self, request: ev.ResponseRequested) -> None:
        """Queue a request until the caller is connected, or refuse it if too many are queued."""
        if not self._clients.hold(partial(self._carry_out, request)):
            message = f"the caller is not connected yet, and {MAX_HELD} responses wait for that already"
            self.events.notify(
                notify.NotifyError(
                    notify.RESPONSE_IN_PROGRESS, message, client_event_id=request.client_event_id
                )
            )

    def _carry_out(self, request: ev.ClientRequest) -> None:
        if not self._attached:  # detached while the request was queued
            return
        if self._logged.spend(1, time.monotonic):
            name = type(request).__name__
            self._log.info("sideband_request", request=REQUESTS.get(name, name))
        with self._clients.answering(self._number):
            self._call.handle(request)
        if isinstance(request, ev.SettingsChanged) and not self._clients.begun:
            self._clients.settings_changed(self._call.settings)
