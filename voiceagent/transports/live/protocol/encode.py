"""Encoder of a Live session's events. Pure: the time is an argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import Item, MessageItem
from voiceagent.transports.live.protocol.delegations import Delegations
from voiceagent.transports.live.protocol.transcripts import InputTranscript, OutputTranscript, Piece

Event = dict[str, Any]
_INPUT, _OUTPUT = "session.input_transcript.delta", "session.output_transcript.delta"


class Encoder:
    """Encoder of the events of one session.

    delegations: changed by the events. items: returns the conversation, which has the played text of a cut
    response. started_at: Unix seconds.
    """

    def __init__(
        self, delegations: Delegations, items: Callable[[], Sequence[Item]], started_at: float
    ) -> None:
        self.delegations = delegations
        self._items = items
        self._started_at = started_at
        self._numbers: Iterator[int] = count(1)
        self._input = InputTranscript()
        self._output = OutputTranscript()
        self._message = ""

    def event(self, kind: str, client_event_id: str | None = None, **fields: Any) -> Event:
        answered = {} if client_event_id is None else {"client_event_id": client_event_id}
        return {"type": kind, "event_id": self.next_id(), **answered, **fields}

    def next_id(self) -> str:
        """Return the id of a new event. Its number is higher than those before it."""
        return f"event_{next(self._numbers)}"

    def error(self, code: str, message: str, param: str | None, client_event_id: str | None) -> Event:
        about: dict[str, Any] = {"type": "invalid_request_error", "code": code, "message": message}
        about |= {"param": param, "client_event_id": client_event_id}
        return self.event("error", client_event_id, error=about)

    def encode(self, notification: notify.Notification, now_ms: int, received_s: float) -> list[Event]:
        """Return the events of a notification; none for those that the Live API does not show.

        received_s: audio received so far, which dates positions in it.
        """
        match notification:
            case notify.NotifySpeechStarted(item_id, at_s):
                ago_ms = round((received_s - at_s) * 1000)
                self._input.on_speech_started(item_id, max(0, now_ms - ago_ms))
            case notify.NotifyTranscript():
                return self._transcript(_INPUT, self._input.on_transcript(notification, now_ms))
            case notify.NotifyTranscriptFailed(item_id):
                self._input.drop(item_id)
            case notify.NotifyError(code, message, param, client_event_id):
                return [self.error(code, message, param, client_event_id)]
            case (
                notify.NotifyResponseStarted()
                | notify.NotifyResponseText()
                | notify.NotifyToolCall()
                | notify.NotifyResponseEnded()
            ):
                return self._response(notification, now_ms)
        return []

    def on_audio(self, seconds: float, now_ms: int) -> list[Event]:
        """Return the transcript of audio that is sent."""
        return self._transcript(_OUTPUT, self._output.on_audio(seconds, now_ms))

    def _response(self, notification: notify.Notification, now_ms: int) -> list[Event]:
        unix_s = round(self._started_at + now_ms / 1000)
        match notification:
            case notify.NotifyResponseStarted(response_id, in_conversation=True, out_of_band=False):
                # a filler is no continuation
                return self._numbered(self.delegations.on_response_started(response_id, unix_s))
            case notify.NotifyResponseText(item_id=item_id, text=text):
                self._message = item_id
                self._output.on_text(text)
                return self._numbered(self.delegations.on_text(notification))
            case notify.NotifyToolCall():
                return self._numbered(self.delegations.on_tool_call(notification, now_ms, unix_s))
            case notify.NotifyResponseEnded(status=status, out_of_band=False):
                cut = status == "cancelled"
                played = self._output.on_cut(self._played(), now_ms) if cut else self._output.on_sent(now_ms)
                events = self._transcript(_OUTPUT, played)
                return events + self._numbered(self.delegations.on_response_ended(notification))
        return []

    def _played(self) -> str:
        """Return the text of the last response that was played."""
        for item in reversed(self._items()):
            if item.item_id == self._message and isinstance(item, MessageItem):
                return item.text
        return ""

    def _transcript(self, kind: str, piece: Piece | None) -> list[Event]:
        if piece is None:
            return []
        return [self.event(kind, delta=piece.text, start_ms=piece.start_ms, end_ms=piece.end_ms)]

    def _numbered(self, events: list[Event]) -> list[Event]:
        return [self.event(event.pop("type"), **event) for event in events]
