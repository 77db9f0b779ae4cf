"""Encoder of server events: from notifications and audio to the wire."""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal

from pybase64 import b64encode_as_string

from audio.pcm import Samples
from audio.pcm import encode as encode_sound
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.conversation.latency import TurnReport, as_json
from voiceagent.conversation.settings import CallSettings
from voiceagent.transports.realtime.protocol.items import from_item
from voiceagent.transports.realtime.protocol.response import Response, ServerEvent
from voiceagent.transports.realtime.protocol.shown_session import show_session
from voiceagent.transports.realtime.protocol.transcription import logprobs_of

_TRANSCRIPTION = "conversation.item.input_audio_transcription"

REMEMBERED_RESPONSES = 64
"""Number of ended responses with MCP calls or approval requests: their results may arrive late."""
_OUTLASTING_ITEMS = ("mcp_call", "mcp_approval_request")

_UNKNOWN = CallSettings(instructions="", temperature=0.0, turn_detection=None)
"""Settings before `session.created`."""


@dataclass(slots=True)
class Encoder:
    """Encoder of the events of one call. Deterministic: the same notifications give the same events.

    settings: the last ones sent to the client, from `session.created` on. expires_at: latest end of the call,
    in Unix seconds.
    """

    session_id: str
    conversation_id: str
    expires_at: int | None = None
    settings: CallSettings = _UNKNOWN
    _responses: dict[str, Response] = field(default_factory=dict)
    _ended_responses: OrderedDict[str, Response] = field(default_factory=OrderedDict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _audio_head: tuple[str, str] = ("", "")
    _committed_id: str = field(default="", init=False)

    def encode(self, notification: notify.Notification) -> list[ServerEvent]:
        """Return the server events of a notification, in order; none for a response that has ended."""
        return [
            {"type": event["type"], "event_id": f"event_{next(self._numbers)}", **event}
            for event in self._events(notification)
        ]

    def encode_audio(self, response_id: str, frame: Samples) -> str | None:
        """Return the `response.output_audio.delta` of a frame as JSON, None if the response has no open
        message.

        frame: int16 mono at the rate of the call's output format. 50 a second are sent per speaking call, so
        the text around the audio is built once per response; base64 needs no escaping.
        """
        if self._audio_head[0] != response_id:
            response = self._responses.get(response_id)
            place = response.audio_fields if response else None
            if place is None:
                return None
            head = to_json({"type": "response.output_audio.delta", **place})
            self._audio_head = response_id, head[:-1] + ',"event_id":"event_'
        sound = b64encode_as_string(encode_sound(frame, self.settings.output_format))
        return f'{self._audio_head[1]}{next(self._numbers)}","delta":"{sound}"}}'

    def encode_output_buffer(
        self, change: Literal["started", "stopped", "cleared"], response_id: str
    ) -> ServerEvent:
        """Return the event for a change of a response's audio where it has its own path (WebRTC)."""
        return {
            "type": f"output_audio_buffer.{change}",
            "event_id": f"event_{next(self._numbers)}",
            "response_id": response_id,
        }

    def encode_report(self, turn: TurnReport) -> ServerEvent:
        """Return the `voiceagent.latency` event of a turn, an extension that sessions opt in to."""
        return {"type": "voiceagent.latency", "event_id": f"event_{next(self._numbers)}", **as_json(turn)}

    def _events(self, notification: notify.Notification) -> Iterable[ServerEvent]:
        match notification:
            case notify.NotifyResponseStarted():
                return self._begin(notification)
            case notify.NotifyResponseEnded():
                return self._end(notification)
            case notify.NotifyResponseText():
                response = self._responses.get(notification.response_id)
                return response.text(notification) if response else ()
            case notify.NotifyToolCall():
                response = self._responses.get(notification.response_id)
                return response.tool_call(notification) if response else ()
            case notify.NotifyMcpApprovalRequest():
                response = self._response_of(notification.response_id)
                return response.mcp_approval(notification) if response else ()
            case notify.NotifyMcpCall():
                response = self._response_of(notification.response_id)
                return response.mcp_call(notification) if response else ()
            case notify.NotifyMcpCallEnded():
                response = self._response_of(notification.response_id)
                return response.mcp_call_ended(notification) if response else ()
            case notify.NotifyIdle(committed=True):
                return self._idle(notification)
            case notify.NotifyTranscriptRevised():
                return ()  # the protocol has no event for it; the item can be retrieved
            case notify.NotifySettings(settings, created):
                self.settings = settings
                kind = "session.created" if created else "session.updated"
                return ({"type": kind, "session": show_session(self.session_id, settings, self.expires_at)},)
            case _:
                return (self._single(notification),)

    def _idle(self, idle: notify.NotifyIdle) -> Iterable[ServerEvent]:
        """Yield the events of a silence that has become an item."""
        yield self._single(idle)
        yield self._single(notify.NotifyInputCommitted(idle.item_id, idle.previous_id))
        item = MessageItem(idle.item_id, "user", "", spoken=True)
        yield self._single(notify.NotifyItemAdded(item, idle.previous_id))
        yield self._single(notify.NotifyItemDone(item, idle.previous_id))

    def _begin(self, notification: notify.NotifyResponseStarted) -> Iterable[ServerEvent]:
        response = Response(notification, self.settings, self.conversation_id)
        self._responses[notification.response_id] = response
        return response.begin()

    def _end(self, notification: notify.NotifyResponseEnded) -> Iterable[ServerEvent]:
        response = self._responses.pop(notification.response_id, None)
        self._audio_head = ("", "")
        if response is None:
            return ()
        if any(item["type"] in _OUTLASTING_ITEMS for item in response.output):
            self._ended_responses[notification.response_id] = response
            while len(self._ended_responses) > REMEMBERED_RESPONSES:
                self._ended_responses.popitem(last=False)
        return response.end(notification)

    def _response_of(self, response_id: str) -> Response | None:
        """Return a running response, or an ended one whose MCP calls may still run."""
        return self._responses.get(response_id) or self._ended_responses.get(response_id)

    def _single(self, notification: notify.Notification) -> ServerEvent:
        """Return the event of a notification that makes exactly one."""
        match notification:
            case notify.NotifyTranscript() | notify.NotifyTranscriptFailed():
                event = _transcription(notification, self.settings.logprobs)
            case notify.NotifyItemAdded(item, previous_id):
                shown = self._before_transcript(item)
                event = _item_event("conversation.item.added", shown, previous_item_id=previous_id)
            case notify.NotifyItemDone(item, previous_id):
                shown = self._before_transcript(item)
                event = _item_event("conversation.item.done", shown, previous_item_id=previous_id)
            case notify.NotifyItemRetrieved(item):
                event = _item_event("conversation.item.retrieved", item)
            case notify.NotifyItemDeleted(item_id):
                event = {"type": "conversation.item.deleted", "item_id": item_id}
            case notify.NotifyMcpListing(item_id, status):
                event = {"type": f"mcp_list_tools.{status}", "item_id": item_id}
            case notify.NotifyItemTruncated(item_id, played_s):
                place = {"item_id": item_id, "content_index": 0, "audio_end_ms": _ms(played_s)}
                event = {"type": "conversation.item.truncated", **place}
            case notify.NotifyError(code, message, param, client_event_id):
                error = {"type": "invalid_request_error", "code": code, "message": message}
                event = {"type": "error", "error": {**error, "param": param, "event_id": client_event_id}}
            case _:
                event = self._input_buffer(notification)
        return event

    def _before_transcript(self, item: Item) -> Item:
        """Return an item as it is shown before its transcript is complete. A committed turn has no words:
        clients such as LiveKit append those of `transcription.completed`, and would have them twice.
        """
        if isinstance(item, MessageItem) and item.item_id == self._committed_id:
            return replace(item, text="")
        return item

    def _input_buffer(self, notification: notify.Notification) -> ServerEvent:
        """Return an event of the input audio buffer. The protocol's positions include padding and silence."""
        detection = self.settings.turn_detection
        match notification:
            case notify.NotifySpeechStarted(item_id, at_s, not_before_s):
                padding_s = detection.prefix_padding_s if detection else 0.0
                from_s = max(at_s - padding_s, not_before_s)
                place: dict[str, Any] = {"item_id": item_id, "audio_start_ms": _ms(from_s)}
                return {"type": "input_audio_buffer.speech_started", **place}
            case notify.NotifySpeechStopped(item_id, at_s, sound_end_s):
                server_vad = detection is not None and detection.kind == "server_vad"
                silence_s = detection.silence_s if detection and server_vad else 0.0
                end_s = at_s + silence_s if sound_end_s is None else sound_end_s
                place = {"item_id": item_id, "audio_end_ms": _ms(end_s)}
                return {"type": "input_audio_buffer.speech_stopped", **place}
            case notify.NotifyInputCommitted(item_id, previous_id):
                self._committed_id = item_id
                place = {"item_id": item_id, "previous_item_id": previous_id}
                return {"type": "input_audio_buffer.committed", **place}
            case notify.NotifyInputCleared():
                return {"type": "input_audio_buffer.cleared"}
            case notify.NotifyIdle(item_id, at_s):
                timeout_s = (detection.idle_timeout_s if detection else None) or 0.0
                place = {"audio_start_ms": _ms(at_s - timeout_s), "audio_end_ms": _ms(at_s)}
                return {"type": "input_audio_buffer.timeout_triggered", "item_id": item_id, **place}
            case notify.NotifyKeyPressed(digit, received_at):
                kind = "input_audio_buffer.dtmf_event_received"
                return {"type": kind, "event": digit, "received_at": received_at}
            case _:
                raise AssertionError(f"{type(notification).__name__} is not encoded")


def to_json(event: ServerEvent) -> str:
    return json.dumps(event, separators=(",", ":"))


def _transcription(
    notification: notify.NotifyTranscript | notify.NotifyTranscriptFailed, logprobs: bool
) -> ServerEvent:
    place = {"item_id": notification.item_id, "content_index": 0}
    if isinstance(notification, notify.NotifyTranscriptFailed):
        error = {"type": "server_error", "code": "transcription_failed", "message": "speech-to-text failed"}
        return {"type": f"{_TRANSCRIPTION}.failed", **place, "error": error}
    if not notification.final:
        return {"type": f"{_TRANSCRIPTION}.delta", **place, "delta": notification.text}
    usage = {"type": "duration", "seconds": math.ceil(notification.seconds)}
    event = {"type": f"{_TRANSCRIPTION}.completed", **place, "transcript": notification.text, "usage": usage}
    if logprobs:
        event["logprobs"] = logprobs_of(notification.text, notification.logprob)
    return event


def _item_event(kind: str, item: Item, **fields: str | None) -> ServerEvent:
    return {"type": kind, **fields, "item": from_item(item)}


def _ms(seconds: float) -> int:
    """Convert to milliseconds; nothing lies before the call's first sample."""
    return max(0, round(seconds * 1000))
