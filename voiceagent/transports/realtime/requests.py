"""Takes a client's events to its call, whatever brings them; what is wrong with one is told to the client."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

from audio.pcm import Samples
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.settings import CallSettings
from voiceagent.session.call import Call, InputOverflow
from voiceagent.session.client import Client
from voiceagent.transports.realtime.decode import AudioAppended, Decoder
from voiceagent.transports.realtime.errors import RequestError
from voiceagent.transports.realtime.session_settings import merge_given


class Requests:
    """The requests of one call. sound_apart: sound has a path of its own, in formats of its own, and does not
    come in events.
    """

    def __init__(self, call: Call, client: Client, sound_apart: bool = False) -> None:
        self._call = call
        self._client = client
        self._sound_apart = sound_apart
        self._decoder = Decoder(call.settings, new_id)
        self._overflowing = False

    def start(self, session: dict[str, Any]) -> None:
        """Put in force what a session that was given beforehand changes."""
        if session:
            try:
                self._change(merge_given(session, self._call.settings))
            except RequestError as error:
                self._refuse(error)

    def take(self, text: str | bytes) -> None:
        """Carry out one event, as JSON text."""
        if isinstance(text, bytes):
            self._refuse(RequestError("invalid_json", "a binary message came; events are JSON text"))
            return
        try:
            self._carry_out(self._decoder.decode(text, self._call.settings))
        except RequestError as error:
            self._refuse(error)

    def hear(self, samples: Samples) -> None:
        """Take sound that came apart from the events, int16 mono at the rate of the input format."""
        try:
            self._hear(samples)
        except RequestError as error:
            self._refuse(error)

    def _carry_out(self, request: ev.ClientRequest | AudioAppended) -> None:
        if isinstance(request, AudioAppended):
            if self._sound_apart:
                message = "the caller's sound comes over the audio track of this call, not in events"
                raise RequestError("invalid_value", message, "type")
            self._hear(request.samples)
            return
        if isinstance(request, ev.SettingsChanged):
            self._change(request.settings)
        else:
            self._call.handle(request)

    def _change(self, settings: CallSettings) -> None:
        if self._sound_apart:
            now = self._call.settings
            settings = replace(settings, input_format=now.input_format, output_format=now.output_format)
        self._call.handle(ev.SettingsChanged(settings))

    def _hear(self, samples: Samples) -> None:
        try:
            self._call.hear(samples)
            self._overflowing = False
        except InputOverflow as overflow:
            if self._overflowing:
                return  # told once: the flood must not be answered by one of errors
            self._overflowing = True
            message = f"{overflow}; this sound, and more until there is room, is dropped"
            raise RequestError("input_audio_buffer_overflow", message, "audio") from overflow

    def _refuse(self, error: RequestError) -> None:
        self._client.notify(notify.NotifyError(error.code, error.message, error.param, error.client_event_id))


def new_id(prefix: str) -> str:
    """A new id, of a call, a conversation or an item."""
    return f"{prefix}_{uuid4().hex[:20]}"
