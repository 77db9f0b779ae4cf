"""A phone call as the session sees it: encodes sound and marks, and queues them."""

from __future__ import annotations

from typing import Protocol

import structlog

from audio.pcm import Samples
from llmcore.engine import ToolCall
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.telephony.marks import Marks, Played
from voiceagent.transports.telephony.serializer import Message, Serializer

log = structlog.get_logger()


class ToolCalls(Protocol):
    """Who carries out what the model asks for with its tools."""

    def tools_called(self, response_id: str, calls: list[ToolCall], said: bool, interrupted: bool) -> None:
        """A response with these calls was sent. said: it had sound; interrupted: it was cut."""

    def interrupted(self) -> None:
        """The caller cut the agent short."""


class PhoneClient:
    """Tells the provider what its wire has words for; `tool_calls` gets those of the model."""

    def __init__(self, call_id: str, serializer: Serializer) -> None:
        self.outbox: Outbox[Message] = Outbox()
        self.tool_calls: ToolCalls | None = None
        self._log = log.bind(call=call_id)
        self._serializer = serializer
        self._marks = Marks()
        self._calls: list[ToolCall] = []

    def notify(self, notification: notify.Notification) -> None:
        """Tell what matters on a phone line: a response's end, and the tools it calls."""
        match notification:
            case notify.NotifyResponseStarted():
                self._calls = []
            case notify.NotifyToolCall(call=call):
                self._calls.append(call)
            case notify.NotifyResponseEnded(response_id, status):
                name = self._marks.ended(response_id)
                self._mark(name)
                if self._calls and self.tool_calls is not None:
                    said, interrupted = name is not None, status == "cancelled"
                    self.tool_calls.tools_called(response_id, self._calls, said, interrupted)
                    self._calls = []
            case notify.NotifyError(code, message):
                self._log.warning("request_refused", code=code, reason=message)
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        """Send sound of a response, int16 mono at the rate of the call's output format."""
        self.outbox.put(self._serializer.media(frame), sound=True)
        self._mark(self._marks.sent(response_id, len(frame)))

    def clear(self) -> None:
        """Drop the sound that has not been played, here and at the provider."""
        self._marks.clear()
        self.outbox.drop_sound()
        message = self._serializer.clear()
        if message is not None:
            self.outbox.put(message)
        if self.tool_calls is not None:
            self.tool_calls.interrupted()

    def report(self, turn: TurnReport) -> None:
        """A phone has no use for it."""

    def played(self, name: str) -> Played | None:
        """What a mark that came back tells; None for one that tells nothing."""
        return self._marks.played(name)

    def _mark(self, name: str | None) -> None:
        message = self._serializer.mark(name) if name is not None else None
        if message is not None:
            self.outbox.put(message, sound=True)
