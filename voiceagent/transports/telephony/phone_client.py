"""Client of a phone call: encodes audio and marks, and queues them."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.telephony.stream.marks import Marks, Played, Unplayed
from voiceagent.transports.telephony.stream.serializer import Message, Serializer

log = structlog.get_logger()


class PhoneClient:
    """Client of a call over telephony. Sends only what the provider's protocol supports."""

    def __init__(self, call_id: str, serializer: Serializer) -> None:
        self.outbox: Outbox[Message] = Outbox()
        self._log = log.bind(call=call_id)
        self.serializer = serializer
        self._marks = Marks()
        self._unplayed = Unplayed()
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
            self._unplayed.add_frame(frame)
            self._mark(self._marks.sent(response_id, len(frame)))

    def fill(self, frame: Samples) -> None:
        """Send audio that belongs to no response."""
        self.outbox.put(self.serializer.media(frame), sound=True)

    def clear(self) -> None:
        """Drop unplayed audio, here and at the provider."""
        self._marks.clear()
        self._unplayed.clear()
        self.outbox.drop_sound()
        message = self.serializer.clear()
        if message is not None:
            self.outbox.put(message)

    def report(self, turn: TurnReport) -> None:
        """Do nothing: phones do not receive reports."""

    def played(self, name: str) -> Played | None:
        """Return what a returned mark means; None for an unknown or outdated one."""
        self._unplayed.played(name)
        return self._marks.played(name)

    def use_stream(self, serializer: Serializer) -> int:
        """Continue on another stream of the same call, which gets the audio again that was not played. Return
        the number of its frames.
        """
        self.serializer = serializer
        self.outbox.clear()  # made for the former stream
        again = list(self._unplayed)
        for sent in again:
            message = serializer.mark(sent) if isinstance(sent, str) else serializer.media(sent)
            if message is not None:
                self.outbox.put(message, sound=True)
        return sum(not isinstance(sent, str) for sent in again)

    def _mark(self, name: str | None) -> None:
        if name is None:
            return
        message = self.serializer.mark(name)
        if message is None:
            self._unplayed.clear()
        else:
            self._unplayed.add_mark(name)
            self.outbox.put(message, sound=True)
