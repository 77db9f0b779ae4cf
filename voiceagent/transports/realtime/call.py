"""A call's client events, from any transport: carries them out and reports errors to the client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import ControlledCall, InputOverflow, Notified, new_id
from voiceagent.transports.connection import Ending
from voiceagent.transports.limits import USUAL_LIMITS, EventLimits
from voiceagent.transports.realtime.protocol.decode import AudioAppended, Decoder, append_sound, event_id_of
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.session_settings import merge_given


class RealtimeCall:
    """One call in the Realtime protocol: the `Handler` of its connection.

    session: fields of the session that it begins with. sound_apart: audio is transported outside the events,
    in its own formats. limits: of one event. defaults: values that null restores, if other than the call's
    present settings.
    """

    def __init__(
        self,
        call: ControlledCall,
        client: Notified,
        session: dict[str, Any],
        sound_apart: bool = False,
        limits: EventLimits = USUAL_LIMITS,
        defaults: CallSettings | None = None,
    ) -> None:
        self._call = call
        self._client = client
        self._session = session
        self._sound_apart = sound_apart
        self._decoder = Decoder(defaults or call.settings, new_id, limits, lambda: call.items)
        self._overflowing = False
        self._greet = True

    def prepare(self) -> None:
        """Apply the session that was given in advance. Idempotent."""
        session, self._session = self._session, {}
        if session:
            try:
                self._change_settings(merge_given(session, self._call.settings))
                self._greet = (session.get("voiceagent") or {}).get("greeting") is not False
            except RequestError as error:
                self._refuse(error)

    def begin(self) -> None:
        self.prepare()
        self._call.begin(self._greet)

    def take(self, message: str | bytes) -> None:
        """Carry out one event, as JSON text."""
        try:
            # Fast path: 50 appends a second and call go straight to the session.
            samples = None if self._sound_apart else append_sound(message, self._call.settings.input_format)
            if samples is None:
                self._carry_out(message)
            else:
                self._call.hear(samples)
                self._overflowing = False
        except RequestError as error:
            self._refuse(error)
        except InputOverflow as overflow:
            self._drop(overflow)

    def hear(self, samples: Samples, filler: bool = False) -> None:
        """Push audio that came without events, int16 mono at the input's rate. filler: see `Call.hear`."""
        try:
            self._call.hear(samples, filler)
            self._overflowing = False
        except InputOverflow as overflow:
            self._drop(overflow)

    def close(self) -> None:
        """Do nothing: there are no tasks or timers."""

    async def hang_up(self, ending: Ending) -> None:
        """Do nothing: closing the connection is enough."""

    def _carry_out(self, message: str | bytes) -> None:
        if isinstance(message, bytes):
            raise RequestError("invalid_json", "a binary message came; events are JSON text")
        request = self._decoder.decode(message, self._call.settings)
        try:
            self._apply(request)
        except RequestError as error:
            error.client_event_id = event_id_of(message)
            raise

    def _apply(self, request: ev.ClientRequest | AudioAppended) -> None:
        if isinstance(request, ev.ResponseRequested):
            self._check_servers(request.mcp_servers, "response.tools")
        if isinstance(request, ev.SettingsChanged):
            self._change_settings(request.settings)
        elif not isinstance(request, AudioAppended):
            self._handle(request)
        elif self._sound_apart:
            where = "the caller's sound comes over the line of this call, not in events"
            raise RequestError("invalid_value", where, "type")
        else:
            self.hear(request.samples)

    def _handle(self, request: ev.ClientRequest) -> None:
        try:
            self._call.handle(request)
        except InputOverflow as overflow:
            message = f"{overflow}; create the item again when there is room"
            raise RequestError("input_audio_buffer_overflow", message, "item.content") from overflow

    def _check_servers(self, servers: Sequence[McpServer], param: str) -> None:
        for server in servers:
            if (refusal := self._call.mcp_refusal(server)) is not None:
                raise RequestError("invalid_value", f"{param}: {refusal}", param)

    def _change_settings(self, settings: CallSettings) -> None:
        self._check_servers(settings.mcp_servers, "session.tools")
        if self._sound_apart:
            now = self._call.settings
            settings = replace(settings, input_format=now.input_format, output_format=now.output_format)
        self._call.handle(ev.SettingsChanged(settings))

    def _drop(self, overflow: InputOverflow) -> None:
        if not self._overflowing:  # once: a flood of audio must not cause a flood of errors
            self._overflowing = True
            message = f"{overflow}; this sound, and more until there is room, is dropped"
            self._refuse(RequestError("input_audio_buffer_overflow", message, "audio"))

    def _refuse(self, error: RequestError) -> None:
        self._client.notify(notify.NotifyError(error.code, error.message, error.param, error.client_event_id))
