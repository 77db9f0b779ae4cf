"""Client of a Realtime call over WebRTC: sends a session's notifications and audio."""

from __future__ import annotations

import time

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.call import conversation_id
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.encode import Encoder, to_json
from voiceagent.transports.realtime.protocol.response import ServerEvent
from voiceagent.transports.webrtc.output import AudioOutput


class WebRtcClient:
    """Client of a call over WebRTC: sends events to the data channel and audio over RTP.

    max_call_s: maximum length of the call. output: sends the audio.
    """

    def __init__(self, call_id: str, max_call_s: float) -> None:
        self.output = AudioOutput()
        self.outbox: Outbox[str] = Outbox()
        self._encoder = Encoder(call_id, conversation_id(call_id), round(time.time() + max_call_s))

    def notify(self, notification: notify.Notification) -> None:
        """Send a notification to the client."""
        for event in self._encoder.encode(notification):
            self._put(event)
        if isinstance(notification, notify.NotifyResponseEnded) and self.output.is_playing(
            notification.response_id
        ):
            self._put(self._encoder.encode_output_buffer("stopped", notification.response_id))
            self.output.stop()

    def play(self, response_id: str, frame: Samples) -> None:
        """Send audio of a response, int16 mono at 24 kHz. Other audio has no event in the Realtime API."""
        if response_id and not self.output.is_playing(response_id):
            self._put(self._encoder.encode_output_buffer("started", response_id))
        self.output.play(response_id, frame)

    def clear(self) -> None:
        """Notify the client that the audio stops; sent audio cannot be dropped."""
        if response_id := self.output.stop():
            self._put(self._encoder.encode_output_buffer("cleared", response_id))

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""
        self._put(self._encoder.encode_report(turn))

    def _put(self, event: ServerEvent) -> None:
        self.outbox.put(to_json(event))
