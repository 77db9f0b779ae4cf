"""A Live session's client events: carries them out and reports errors to the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem, ToolOutputItem
from voiceagent.session.call import Call, InputOverflow, new_id
from voiceagent.transports.connection import Ending
from voiceagent.transports.limits import TransportLimits
from voiceagent.transports.live.acknowledgements import Acknowledgement
from voiceagent.transports.live.client import LiveClient
from voiceagent.transports.live.fixture import Fixture
from voiceagent.transports.live.protocol import client_events as wire
from voiceagent.transports.live.protocol.decode import decode, to_history_item
from voiceagent.transports.live.protocol.delegations import Delegations
from voiceagent.transports.live.protocol.settings import (
    LiveSettings,
    initial_item,
    show_session,
    to_call_settings,
    with_backend,
)
from voiceagent.transports.live.standby import Standby
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.decode import append_heads, append_sound, to_samples
from voiceagent.transports.realtime.protocol.encode import to_json
from voiceagent.transports.realtime.protocol.errors import RequestError

USAGE_S = 30.0
"""Interval of `session.usage.updated`."""
CLOSED = "the client closed the session"
HUNG_UP = "the session was hung up by its id"
_APPENDS = append_heads(wire.AUDIO_APPEND)
_THINKING = "[For your information, not to be read out: {}]"
_COMMENTARY = "[For the caller: {}]"
_SPEAK = (
    'The application says: "{}" Tell the caller this now, in one or two short sentences; if it is an '
    "instruction, follow it."
)
"""Guidance for commentary. A model of 0.5 B tells what it reads last, so it has the words themselves."""
Reason = Literal["close_requested", "expired", "connection_lost"]


class LiveCall:
    """One Live session: the `Handler` of its connection.

    phrase: automatic acknowledgement of a delegation, "" for none. end: ends the connection.
    """

    def __init__(
        self,
        call: Call,
        client: LiveClient,
        settings: LiveSettings,
        delegations: Delegations,
        phrase: str,
        limits: TransportLimits,
        end: Callable[[Ending], None],
    ) -> None:
        self._call = call
        self._client = client
        self._settings = settings
        self._delegations = delegations
        self._limits = limits
        self._end = end
        self._standby = Standby(settings.start.idle_timeout_s is not None)
        self._fixture = Fixture(call.handle, self._send)
        self._muted = self._overflowing = self._continues = self._refused = False
        self._usage_timer: asyncio.TimerHandle | None = None
        self._closing_id: str | None = None  # of the event that closed the session
        self.finished = asyncio.Event()
        self._phrase = phrase
        self._acknowledgement = Acknowledgement(
            self._acknowledgement_delay,
            lambda: phrase != "" and delegations.awaited,
            lambda: call.post(ev.SpeechRequested(phrase)),
            lambda item_id: call.handle(ev.ItemDeleted(item_id)),
        )
        client.on_notification = self._on_notification

    def prepare(self, history: Sequence[Item] = ()) -> None:
        """Apply the session's configuration. history: conversation that it continues. Raise RequestError."""
        settings = to_call_settings(self._settings, self._call.settings)
        self._check_instructions(settings.instructions, "session")
        for server in settings.mcp_servers:
            self._check_server(self._call.mcp_refusal(server))
        self._call.handle(ev.SettingsChanged(settings))
        self._client.output_format = settings.output_format
        given = self._settings.start.input or ()
        items = (*history, *(initial_item(item, new_id("item")) for item in given))
        for item in items:
            self._call.handle(ev.ItemCreated(item))
        self._continues = bool(items)

    def begin(self) -> None:
        """Begin the session. One with a history is a continuation, and is not greeted."""
        self._client.begin()
        self._send("session.started", self._settings.event.event_id, session=self._session)
        if self._client.permissions.restricted:
            self._client.send_notice("data_channel_permissions", self._client.permissions.describe())
        self._call.begin(greet=not self._continues)
        self._usage_timer = asyncio.get_running_loop().call_later(USAGE_S, self._report_usage)

    def take(self, message: str | bytes) -> None:
        """Carry out one event, as JSON text."""
        try:
            # Fast path: 50 appends a second go straight to the session.
            samples = None
            if not self._settings.negotiated:
                samples = append_sound(message, self._call.settings.input_format, _APPENDS)
            if samples is None:
                self._take_event(decode(message, self._limits))
            else:
                self._hear(samples)
        except RequestError as error:
            self.refuse(error)
        except InputOverflow as overflow:
            self._drop(overflow)

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push audio that did not come in events; see `ControlledCall.hear`."""
        try:
            self._hear(samples, filler)
        except InputOverflow as overflow:
            self._drop(overflow)

    def _take_event(self, event: wire.ClientEvent) -> None:
        """Carry out an event of the session's own connection."""
        try:
            self._client.permissions.check_client_event(event.type)
            if self._settings.negotiated and isinstance(event, wire.AudioAppend):
                message = "the caller's audio comes over the media connection, not in events"
                raise RequestError("invalid_value", message, "type")
        except RequestError as error:
            error.client_event_id = event.event_id
            raise
        self.carry_out(event)

    def carry_out(self, event: wire.ClientEvent) -> None:
        """Carry out an event. Raise RequestError, InputOverflow."""
        try:
            self._carry_out(event)
        except RequestError as error:
            error.client_event_id = event.event_id
            raise

    def close(self) -> None:
        """Cancel the timers."""
        self._acknowledgement.cancel()
        if self._usage_timer is not None:
            self._usage_timer.cancel()

    async def hang_up(self, ending: Ending) -> None:
        """Send `session.closed`."""
        reason: Reason = "close_requested" if ending.code == 1000 else "connection_lost"
        if self._client.now_ms >= self._limits.max_call_s * 1000:
            reason = "expired"
        self.finish(reason)

    def finish(self, reason: Reason = "connection_lost") -> None:
        """Send `session.closed`, the last event. A second call does nothing."""
        if not self.finished.is_set():
            self.finished.set()
            about = {"reason": reason, "session": self._session, "usage": self._usage}
            self._send("session.closed", self._closing_id, **about)

    def show_to(self, sideband: Outbox[str]) -> None:
        """Send the session in force to a new sideband."""
        sideband.put(to_json(self._client.encoder.event("session.started", session=self._session)))

    def end(self, by_id: bool = False) -> None:
        """End the session at the client's request. by_id: the request names it, over HTTP."""
        ending = Ending(HUNG_UP, "hung_up_by_id", 1000) if by_id else Ending(CLOSED, "caller_hung_up", 1000)
        self._end(ending)

    def _carry_out(self, event: wire.ClientEvent) -> None:
        match event:
            case wire.AudioAppend(audio=audio):
                self._hear(to_samples(audio, "audio", self._call.settings.input_format))
            case wire.AudioMute() | wire.AudioUnmute():
                self._muted = isinstance(event, wire.AudioMute)
                state = "muted" if self._muted else "unmuted"
                self._send(f"session.input_audio.{state}", event.event_id)
            case wire.FixturePlay():
                self._fixture.play(event)
            case wire.ContextAppend():
                self._append(event)
            case wire.ResponseItemCreate(item=item):
                self._add_item(item, event.event_id)
            case wire.ResponseCreate(event_id=event_id):
                self._continue(event_id)
            case wire.SessionUpdate():
                self._update(event)
            case wire.SessionClose(event_id=event_id):
                self._closing_id = event_id
                self.end()
            case _:
                message = "the session has started already; a connection has one"
                raise RequestError("session_already_started", message, "type")

    def _hear(self, samples: Samples, filler: bool = False) -> None:
        if self._client.sidebands:
            reflected = np.zeros_like(samples) if self._call.private else samples
            self._client.reflect_input(reflected, self._call.settings.input_format.rate_hz)
        if self._muted or self._fixture.is_playing:
            samples = np.zeros_like(samples)
        self._call.hear(samples, filler)
        self._client.received_s += len(samples) / self._call.settings.input_format.rate_hz
        self._overflowing = False

    # ---- context

    def _append(self, event: wire.ContextAppend) -> None:
        self._fixture.check_not_playing()
        self._delegations.check_id(event.delegation_id)
        match event:
            case wire.InstructionsAppend(content=content):
                kind, appended = "instructions", True
                self._instruct(content)
            case wire.ThinkingAppend():
                kind = "thinking"
                self._acknowledgement.postpone()  # the caller hears none of it
                appended = self._note(_THINKING.format(event.content), event.event_id)
            case _:
                kind = "commentary"
                self._acknowledgement.cancel()
                appended = self._comment(event)
        if appended:
            now_ms = self._client.now_ms
            self._send(f"session.{kind}.appended", event.event_id, start_ms=now_ms, end_ms=now_ms)

    def _comment(self, event: wire.ContextAppend) -> bool:
        """Add commentary to the history, and have the agent say it once neither side speaks. The first of a
        delegation is the result of the model's call. What the client says is never delegated to it again. The
        backend keeps its tools: the same response may be the continuation that the client requests. Return
        False if the history refuses it.
        """
        call_id = self._delegations.call_of(event.delegation_id)
        if call_id is None:
            appended = self._note(_COMMENTARY.format(event.content), event.event_id)
        else:
            appended = self._answer(ToolOutputItem(new_id("item"), call_id, event.content), event.event_id)
        if appended:
            words_only = self._delegations.to_client
            self._reply(_SPEAK.format(event.content), words_only, fallback=event.content)
        return appended

    def _instruct(self, content: str) -> None:
        """Append to the instructions. A message in the history would not outlive a summary of old turns."""
        settings = self._call.settings
        instructions = f"{settings.instructions}\n\n{content}".lstrip()
        self._check_instructions(instructions, "content")
        self._settings = replace(self._settings, appended=(*self._settings.appended, content))
        self._call.handle(ev.SettingsChanged(replace(settings, instructions=instructions)))

    def _check_instructions(self, instructions: str, param: str) -> None:
        """Raise RequestError if they are too long: updates, appended texts and forks of forks add to them."""
        if len(instructions) > self._limits.max_instructions_characters:
            limit = f"{self._limits.max_instructions_characters} (limits.max_instructions_characters)"
            message = f"the instructions would have {len(instructions)} characters; allowed: at most {limit}"
            raise RequestError("limit_exceeded", message, param)

    def _note(self, text: str, client_event_id: str | None) -> bool:
        return self._create(MessageItem(new_id("item"), "system", text), client_event_id)

    def _create(self, item: Item, client_event_id: str | None) -> bool:
        """Add an item to the history. Return False if it is refused; the client has the error then."""
        self._refused = False
        self._call.handle(ev.ItemCreated(item, client_event_id=client_event_id))
        return not self._refused

    def _answer(self, output: ToolOutputItem, client_event_id: str | None) -> bool:
        """Add the output of a delegated call. Return False if it is refused; the call still waits then."""
        if added := self._create(output, client_event_id):
            self._delegations.on_output(output.call_id)
        return added

    def _reply(self, guidance: str, words_only: bool = False, fallback: str = "") -> None:
        """Have the agent say what is new once neither side speaks. fallback: see `ReplyRequested`."""
        self._call.post(ev.ReplyRequested(guidance, words_only, is_report=True, fallback=fallback))

    # ---- the backend

    def _add_item(self, item: dict[str, Any], client_event_id: str | None) -> None:
        self._delegations.check_backend()
        added = to_history_item(item, new_id("item"))
        if isinstance(added, ToolOutputItem):
            self._delegations.check_waits(added.call_id)
            self._answer(added, client_event_id)
        else:
            self._create(added, client_event_id)

    def _continue(self, client_event_id: str | None) -> None:
        if self._delegations.request_continuation(client_event_id):
            self._acknowledgement.cancel()
            self._reply("")

    def _update(self, event: wire.SessionUpdate) -> None:
        changed = self._settings.updated(event.session)
        given = getattr(event.session.delegation, "responses", None)
        instructions = given is not None and "instructions" in given.model_fields_set
        settings = with_backend(changed, self._call.settings, instructions)
        if instructions:
            self._check_instructions(settings.instructions, "session.delegation.responses.instructions")
        for server in settings.mcp_servers:
            self._check_server(self._call.mcp_refusal(server))
        self._settings = changed
        if settings != self._call.settings:
            self._call.handle(ev.SettingsChanged(settings))
        self._send("session.updated", event.event_id, session=self._session)

    def _check_server(self, refusal: str | None) -> None:
        if refusal is not None:
            param = "session.delegation.responses.tools"
            raise RequestError("invalid_value", f"{param}: {refusal}", param)

    def _acknowledgement_delay(self, waited_s: float) -> float:
        return self._settings.acknowledgement_delay_s(waited_s)  # an update changes the settings

    def _on_notification(self, notification: notify.Notification) -> None:
        if isinstance(notification, notify.NotifyError):
            self._refused = True
        self._acknowledgement.on_notification(notification, self._client.received_s)
        self._fixture.on_notification(notification)
        if (changed := self._standby.on_notification(notification, self._client.now_ms)) is not None:
            self._send(changed)
        if self._phrase and isinstance(notification, notify.NotifyToolCall):
            self._acknowledgement.on_delegation(notification.response_id)

    # ---- events

    @property
    def _session(self) -> dict[str, Any]:
        return show_session(self._settings, self._call.settings)

    @property
    def _usage(self) -> dict[str, Any]:
        return self._standby.usage(self._client.now_ms)

    def _report_usage(self) -> None:
        self._send("session.usage.updated", usage=self._usage)
        self._usage_timer = asyncio.get_running_loop().call_later(USAGE_S, self._report_usage)

    def _send(self, kind: str, client_event_id: str | None = None, **fields: Any) -> None:
        self._client.send(self._client.encoder.event(kind, client_event_id, **fields))

    def _drop(self, overflow: InputOverflow) -> None:
        if not self._overflowing:  # once: a flood of audio must not cause a flood of errors
            self._overflowing = True
            message = f"{overflow}; this sound, and more until there is room, is dropped"
            self.refuse(RequestError("input_audio_buffer_overflow", message, "audio"))

    def refuse(self, error: RequestError) -> None:
        about = error.code, error.message, error.param, error.client_event_id
        self._client.send(self._client.encoder.error(*about))
