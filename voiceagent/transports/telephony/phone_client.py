"""A phone call as the session sees it: encodes sound and marks, and queues them."""

from __future__ import annotations

import structlog

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.telephony.stream.marks import Marks, Played
from voiceagent.transports.telephony.stream.serializer import Message, Serializer

log = structlog.get_logger()


class PhoneClient:
    """Tells the provider what its wire has words for."""

    def __init__(self, call_id: str, serializer: Serializer) -> None:
        self.outbox: Outbox[Message] = Outbox()
        self._log = log.bind(call=call_id)
        self._serializer = serializer
        self._marks = Marks()
        self.frames = 0
        """Of the agent's sound that were sent."""

    def notify(self, notification: notify.Notification) -> None:
        """Tell what matters on a phone line: a response's end."""
        match notification:
            case notify.NotifyResponseEnded(response_id):
                self._mark(self._marks.ended(response_id))
            case notify.NotifyError(code, message):
                self._log.warning("request_refused", code=code, reason=message)
            case _:
                pass

    def play(self, response_id: str, frame: Samples) -> None:
        """Send sound of a response, int16 mono at the rate of the call's output format."""
        self.frames += 1
        self.fill(frame)
        self._mark(self._marks.sent(response_id, len(frame)))

    def fill(self, frame: Samples) -> None:
        """Send sound that is no response's."""
        self.outbox.put(self._serializer.media(frame), sound=True)

    def clear(self) -> None:
        """Drop the sound that has not been played, here and at the provider."""
        self._marks.clear()
        self.outbox.drop_sound()
        message = self._serializer.clear()
        if message is not None:
            self.outbox.put(message)

    def report(self, turn: TurnReport) -> None:
        """A phone has no use for it."""

    def played(self, name: str) -> Played | None:
        """What a mark that came back tells; None for one that tells nothing."""
        return self._marks.played(name)

    def _mark(self, name: str | None) -> None:
        message = self._serializer.mark(name) if name is not None else None
        if message is not None:
            self.outbox.put(message, sound=True)
