"""The agent's audio of a WebRTC call: sent over RTP, with an estimate of when it is heard."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from audio.pcm import Samples
from voiceagent.transports.webrtc.media import AgentVoice
from voiceagent.transports.webrtc.rtp import Remote

_FRAME_S = 0.02


class AudioOutput:
    """Output of one call.

    played: called once a response with the seconds of it that have been played; set as soon as the call
    exists.
    """

    def __init__(self) -> None:
        self.played: Callable[[str, float], None] = lambda response_id, played_s: None
        self.remote = Remote()
        self.voice = AgentVoice(time.monotonic)
        self._playing: str | None = None

    def is_playing(self, response_id: str) -> bool:
        """Return True if audio of this response was sent last, and was not stopped."""
        return response_id == self._playing

    def play(self, response_id: str, frame: Samples) -> None:
        """Send 20 ms of a response, or of none (""), int16 mono at 24 kHz."""
        if response_id and response_id != self._playing:
            self._playing = response_id
            after_s = self.remote.delay_s + _FRAME_S
            # browsers do not report playout: estimate it from RTCP's delay
            asyncio.get_running_loop().call_later(after_s, self._first_played, response_id)
        self.voice.play(frame)

    def stop(self) -> str | None:
        """End the response in progress, at its end or before. Return its id, None if there is none."""
        playing, self._playing = self._playing, None
        return playing

    def reported(self, round_trip_s: float | None, jitter_s: float, lost: float) -> None:
        """Handle an RTCP report on our audio: round trip and jitter in seconds, loss as a fraction."""
        self.remote.reported(round_trip_s, jitter_s, lost)
        self.voice.expect_loss(lost)

    def _first_played(self, response_id: str) -> None:
        if response_id == self._playing:
            self.played(response_id, _FRAME_S)
