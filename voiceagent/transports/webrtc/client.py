"""Client of a WebRTC call: sends a session's notifications and audio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import TurnReport
from voiceagent.session.call import conversation_id
from voiceagent.transports.outbox import Outbox
from voiceagent.transports.realtime.protocol.encode import Encoder, to_json
from voiceagent.transports.realtime.protocol.response import ServerEvent
from voiceagent.transports.webrtc.media import AgentVoice
from voiceagent.transports.webrtc.rtp import Remote

_FRAME_S = 0.02


class WebRtcClient:
    """Client of a call over WebRTC: sends events to the data channel and audio over RTP.

    max_call_s: maximum length of the call. played: called once a response with the seconds of it that have
    been played; set as soon as the call exists.
    """

    def __init__(self, call_id: str, max_call_s: float) -> None:
        self.played: Callable[[str, float], None] = lambda response_id, played_s: None
        self.remote = Remote()
        self.outbox: Outbox[str] = Outbox()
        self.voice = AgentVoice(time.monotonic)
        self._encoder = Encoder(call_id, conversation_id(call_id), round(time.time() + max_call_s))
        self._playing: str | None = None

    def notify(self, notification: notify.Notification) -> None:
        """Send a notification to the client."""
        for event in self._encoder.encode(notification):
            self._put(event)
        if isinstance(notification, notify.NotifyResponseEnded) and notification.response_id == self._playing:
            self._put(self._encoder.encode_output_buffer("stopped", notification.response_id))
            self._playing = None

    def play(self, response_id: str, frame: Samples) -> None:
        """Send audio of a response, int16 mono at 24 kHz."""
        if response_id != self._playing:
            self._playing = response_id
            self._put(self._encoder.encode_output_buffer("started", response_id))
            after_s = self.remote.delay_s + _FRAME_S
            # browsers do not report playout: estimate it from RTCP's delay
            asyncio.get_running_loop().call_later(after_s, self._first_played, response_id)
        self.voice.play(frame)

    def clear(self) -> None:
        """Notify the client that the audio stops; sent audio cannot be dropped."""
        if self._playing is not None:
            self._put(self._encoder.encode_output_buffer("cleared", self._playing))
            self._playing = None

    def report(self, turn: TurnReport) -> None:
        """Send the stages of a turn."""
        self._put(self._encoder.encode_report(turn))

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Handle an RTCP report on our audio: round trip and jitter in seconds, loss as a fraction."""
        self.remote.reported(round_trip_s, jitter_s, lost)
        self.voice.expect_loss(lost)

    def _first_played(self, response_id: str) -> None:
        if response_id == self._playing:
            self.played(response_id, _FRAME_S)

    def _put(self, event: ServerEvent) -> None:
        self.outbox.put(to_json(event))
