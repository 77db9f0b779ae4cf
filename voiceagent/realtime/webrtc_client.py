"""What a session tells and plays, on its way to a WebRTC caller."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.conversation import notices as tell
from voiceagent.conversation.latency import TurnReport
from voiceagent.realtime.encode import Encoder
from voiceagent.realtime.outbox import Outbox
from voiceagent.realtime.requests import new_id
from voiceagent.realtime.response import ServerEvent
from voiceagent.realtime.webrtc_far_end import FarEnd
from voiceagent.realtime.webrtc_media import AgentVoice

_FRAME_S = 0.02


class WebRtcClient:
    """The far end of a call as the session sees it: events to the data channel, sound to the line.

    played: told, once a reply, that so many seconds of it are heard by now; set when the call is there.
    """

    def __init__(self, call_id: str) -> None:
        self.played: Callable[[str, float], None] = lambda reply_id, heard_s: None
        self.far_end = FarEnd()
        self.outbox: Outbox[str] = Outbox()
        self.voice = AgentVoice(time.monotonic)
        self._encoder = Encoder(call_id, new_id("conv"))
        self._playing: str | None = None

    def tell(self, notice: tell.Notice) -> None:
        """Tell the client something."""
        for event in self._encoder.encode(notice):
            self._put(event)
        if isinstance(notice, tell.TellReplyEnded) and notice.reply_id == self._playing:
            self._put(self._encoder.encode_output_buffer("stopped", notice.reply_id))
            self._playing = None

    def play(self, reply_id: str, frame: Samples) -> None:
        """Send sound of a reply, int16 mono at 24 kHz."""
        if reply_id != self._playing:
            self._playing = reply_id
            self._put(self._encoder.encode_output_buffer("started", reply_id))
            after_s = self.far_end.delay_s + _FRAME_S
            asyncio.get_running_loop().call_later(after_s, self._first_heard, reply_id)
        self.voice.play(frame)

    def clear(self) -> None:
        """Say that the sound stops; what was sent cannot be taken back."""
        if self._playing is not None:
            self._put(self._encoder.encode_output_buffer("cleared", self._playing))
            self._playing = None

    def report(self, turn: TurnReport) -> None:
        """Tell the stages of a turn."""
        self._put(self._encoder.encode_report(turn))

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Take what the far end reports of our sound: seconds, seconds, and a share of 0-1."""
        self.far_end.reported(round_trip_s, jitter_s, lost)
        self.voice.expect_loss(lost)

    def _first_heard(self, reply_id: str) -> None:
        if reply_id == self._playing:
            self.played(reply_id, _FRAME_S)

    def _put(self, event: ServerEvent) -> None:
        self.outbox.put(json.dumps(event, separators=(",", ":")))
