"""Client of a phone call: encodes audio and marks, and queues them."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.telephony.stream.marks import Marks, Played
from voiceagent.transports.telephony.stream.serializer import Message, Serializer

log = structlog.get_logger()


class PhoneClient:
    """Client of a call over telephony. Sends only what the provider's protocol supports."""

    def __init__(self, call_id: str, serializer: Serializer) -> None:
        self.outbox: Outbox[Message] = Outbox()
        self._log = log.bind(call=call_id)
        self._serializer = serializer
        self._marks = Marks()
        self.on_other: Callable[[notify.Notification], None] | None = None
        """Receives the notifications that are not sent."""
        self.frames = 0
        """Number of agent audio frames sent."""

    def notify(self, notification: notify.Notification) -> None:
        """Send a mark at the end of a response; log refused requests. Others are only for `on_other`."""
        match notification:
            case notify.NotifyResponseEnded(response_id):
                self._mark(self._marks.ended(response_id))
            case notify.NotifyError(code, message):
                self._log.warning("request_refused", code=code, reason=message)
            case _ if self.on_other is not None:
                self.on_other(notification)

    def play(self, response_id: str, frame: Samples) -> None:
        """Send audio of a response, int16 mono at the rate of the call's output format."""
        self.frames += 1
        self.fill(frame)
        if response_id:
            self._mark(self._marks.sent(response_id, len(frame)))

    def fill(self, frame: Samples) -> None:
        """Send audio that belongs to no response."""
        self.outbox.put(self._serializer.media(frame), sound=True)

    def clear(self) -> None:
        """Drop unplayed audio, here and at the provider."""
        self._marks.clear()
        self.outbox.drop_sound()
        message = self._serializer.clear()
        if message is not None:
            self.outbox.put(message)

    def report(self, turn: TurnReport) -> None:
        """Do nothing: phones do not receive reports."""

    def played(self, name: str) -> Played | None:
        """Return what a returned mark means; None for an unknown or outdated one."""
        return self._marks.played(name)

    def _mark(self, name: str | None) -> None:
        message = self._serializer.mark(name) if name is not None else None
        if message is not None:
            self.outbox.put(message, sound=True)
