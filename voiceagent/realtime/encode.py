"""Server events of the Realtime API: from notices and sound to what goes over the wire."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Literal

from pybase64 import b64encode_as_string

from audio.pcm import Samples
from audio.pcm import encode as encode_sound
from voiceagent.conversation import notices as tell
from voiceagent.conversation.history import Item
from voiceagent.conversation.latency import TurnReport
from voiceagent.conversation.settings import CallSettings
from voiceagent.realtime.items import from_item
from voiceagent.realtime.response import Response, ServerEvent
from voiceagent.realtime.session_settings import show_session

_TRANSCRIPTION = "conversation.item.input_audio_transcription"


@dataclass(slots=True)
class Encoder:
    """Encodes the events of one call. Pure: the same notices give the same events.

    settings: those that the client was last told of.
    """

    session_id: str
    conversation_id: str
    settings: CallSettings = field(default_factory=CallSettings)
    _responses: dict[str, Response] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _audio_head: tuple[str, str] = ("", "")

    def encode(self, notice: tell.Notice) -> list[ServerEvent]:
        """The server events that a notice becomes, in order; none for a reply that is over."""
        return [
            {"type": event["type"], "event_id": f"event_{next(self._numbers)}", **event}
            for event in self._events(notice)
        ]

    def encode_audio(self, reply_id: str, frame: Samples) -> str | None:
        """The `response.output_audio.delta` of a frame, as JSON; None where the reply has no open message.

        frame: int16 mono at the rate of the call's output format. A call that speaks sends 50 a second, so
        the text around the sound is made once a reply; base64 needs no escaping.
        """
        if self._audio_head[0] != reply_id:
            response = self._responses.get(reply_id)
            place = response.audio_fields if response else None
            if place is None:
                return None
            head = json.dumps({"type": "response.output_audio.delta", **place}, separators=(",", ":"))
            self._audio_head = reply_id, head[:-1] + ',"event_id":"event_'
        sound = b64encode_as_string(encode_sound(frame, self.settings.output_format))
        return f'{self._audio_head[1]}{next(self._numbers)}","delta":"{sound}"}}'

    def encode_output_buffer(
        self, change: Literal["started", "stopped", "cleared"], reply_id: str
    ) -> ServerEvent:
        """What happened to a reply's sound, where it goes over a path of its own (WebRTC)."""
        return {
            "type": f"output_audio_buffer.{change}",
            "event_id": f"event_{next(self._numbers)}",
            "response_id": reply_id,
        }

    def encode_report(self, turn: TurnReport) -> ServerEvent:
        """The `voiceagent.latency` of a turn, beyond the protocol: for sessions that asked for it."""
        return {
            "type": "voiceagent.latency",
            "event_id": f"event_{next(self._numbers)}",
            "turn_id": turn.turn_id,
            "outcome": turn.outcome,
            "total_ms": turn.total_us / 1000,
            "budget_ms": None if turn.budget_s is None else turn.budget_s * 1000,
            "hidden_ms": turn.hidden_us / 1000,
            "stages": [
                {
                    "name": stage.name,
                    "ms": stage.duration_us / 1000,
                    "budget_ms": None if stage.budget_s is None else stage.budget_s * 1000,
                    "hidden_ms": stage.hidden_us / 1000,
                }
                for stage in turn.stages
            ],
            "over_budget": list(turn.over_budget),
            "counts": asdict(turn.counts),
        }

    def _events(self, notice: tell.Notice) -> Iterable[ServerEvent]:
        match notice:
            case tell.TellReplyStarted():
                return self._begin(notice)
            case tell.TellReplyEnded():
                return self._end(notice)
            case tell.TellReplyText():
                response = self._responses.get(notice.reply_id)
                return response.text(notice) if response else ()
            case tell.TellToolCall():
                response = self._responses.get(notice.reply_id)
                return response.tool_call(notice) if response else ()
            case tell.TellSettings(settings, created):
                self.settings = settings
                kind = "session.created" if created else "session.updated"
                return ({"type": kind, "session": show_session(self.session_id, settings)},)
            case _:
                return (self._single(notice),)

    def _begin(self, notice: tell.TellReplyStarted) -> Iterable[ServerEvent]:
        response = Response(notice, self.settings, self.conversation_id)
        self._responses[notice.reply_id] = response
        return response.begin()

    def _end(self, notice: tell.TellReplyEnded) -> Iterable[ServerEvent]:
        response = self._responses.pop(notice.reply_id, None)
        self._audio_head = ("", "")
        return response.end(notice) if response else ()

    def _single(self, notice: tell.Notice) -> ServerEvent:
        """The notices that are one event each."""
        match notice:
            case tell.TellTranscript() | tell.TellTranscriptFailed():
                event = _transcription(notice)
            case tell.TellItemAdded(item, previous_id):
                event = _item_event("conversation.item.added", item, previous_item_id=previous_id)
            case tell.TellItemDone(item, previous_id):
                event = _item_event("conversation.item.done", item, previous_item_id=previous_id)
            case tell.TellItemRetrieved(item):
                event = _item_event("conversation.item.retrieved", item)
            case tell.TellItemDeleted(item_id):
                event = {"type": "conversation.item.deleted", "item_id": item_id}
            case tell.TellItemTruncated(item_id, heard_s):
                place = {"item_id": item_id, "content_index": 0, "audio_end_ms": _ms(heard_s)}
                event = {"type": "conversation.item.truncated", **place}
            case tell.TellError(code, message, param, client_event_id):
                error = {"type": "invalid_request_error", "code": code, "message": message}
                event = {"type": "error", "error": {**error, "param": param, "event_id": client_event_id}}
            case _:
                event = self._input_buffer(notice)
        return event

    def _input_buffer(self, notice: tell.Notice) -> ServerEvent:
        """What happens to the caller's sound. The protocol's positions count padding and silence in."""
        detection = self.settings.turn_detection
        match notice:
            case tell.TellSpeechStarted(item_id, at_s):
                padding_s = detection.prefix_padding_s if detection else 0.0
                place: dict[str, Any] = {"item_id": item_id, "audio_start_ms": _ms(at_s - padding_s)}
                return {"type": "input_audio_buffer.speech_started", **place}
            case tell.TellSpeechStopped(item_id, at_s):
                server_vad = detection is not None and detection.kind == "server_vad"
                silence_s = detection.silence_s if detection and server_vad else 0.0
                place = {"item_id": item_id, "audio_end_ms": _ms(at_s + silence_s)}
                return {"type": "input_audio_buffer.speech_stopped", **place}
            case tell.TellInputCommitted(item_id, previous_id):
                place = {"item_id": item_id, "previous_item_id": previous_id}
                return {"type": "input_audio_buffer.committed", **place}
            case tell.TellInputCleared():
                return {"type": "input_audio_buffer.cleared"}
            case tell.TellIdle(item_id, at_s):
                timeout_s = (detection.idle_timeout_s if detection else None) or 0.0
                place = {"audio_start_ms": _ms(at_s - timeout_s), "audio_end_ms": _ms(at_s)}
                return {"type": "input_audio_buffer.timeout_triggered", "item_id": item_id, **place}
            case tell.TellKeyPressed(digit, received_at):
                kind = "input_audio_buffer.dtmf_event_received"
                return {"type": kind, "event": digit, "received_at": received_at}
            case _:
                raise AssertionError(f"{type(notice).__name__} is not encoded")


def _transcription(notice: tell.TellTranscript | tell.TellTranscriptFailed) -> ServerEvent:
    place = {"item_id": notice.item_id, "content_index": 0}
    if isinstance(notice, tell.TellTranscriptFailed):
        error = {"type": "server_error", "code": "transcription_failed", "message": notice.reason}
        return {"type": f"{_TRANSCRIPTION}.failed", **place, "error": error}
    if not notice.final:
        return {"type": f"{_TRANSCRIPTION}.delta", **place, "delta": notice.text}
    usage = {"type": "duration", "seconds": notice.seconds}
    return {"type": f"{_TRANSCRIPTION}.completed", **place, "transcript": notice.text, "usage": usage}


def _item_event(kind: str, item: Item, **fields: str | None) -> ServerEvent:
    return {"type": kind, **fields, "item": from_item(item)}


def _ms(seconds: float) -> int:
    """Milliseconds on the wire; nothing lies before the call's first sample."""
    return max(0, round(seconds * 1000))
