"""Line of a WebRTC call: sends keys as telephone events, or as tones in the agent's audio."""

from __future__ import annotations

import asyncio

import numpy as np

from audio.dtmf import GAP_S, PAUSE, PAUSE_S, tones
from voiceagent.session.agent import OutboundDetails, ToolFailed, check_keys
from voiceagent.transports.webrtc.media import AgentVoice

AGENT_HZ = 24_000
"""Rate of the agent's audio."""
FRAME_S = 0.02
FRAME = round(AGENT_HZ * FRAME_S)


class WebRtcLine:
    """Line of one call: a `Line`. event_type: payload type of telephone events; None, or unset, if the caller
    did not offer them.
    """

    outbound: OutboundDetails | None = None

    def __init__(self, voice: AgentVoice) -> None:
        self.event_type: int | None = None
        self._voice = voice
        self._sending = asyncio.Lock()

    async def transfer(self, destination: str = "", number: str = "") -> None:
        """Raise ToolFailed: a browser's call cannot be transferred."""
        raise ToolFailed("this call cannot be transferred: it comes over no phone line")

    async def send_digits(self, digits: str) -> None:
        """Send keys; see `Line`. Raise ToolFailed."""
        check_keys(digits)
        async with self._sending:
            for key in digits:
                if self.event_type is None:
                    await self._send_tone(key)
                elif key == PAUSE:
                    await asyncio.sleep(PAUSE_S)
                else:
                    await self._voice.send_event(key, self.event_type)
                    await asyncio.sleep(GAP_S)

    async def _send_tone(self, key: str) -> None:
        loop = asyncio.get_running_loop()
        samples, due_s = tones(key, AGENT_HZ), loop.time()
        samples = np.pad(samples, (0, -len(samples) % FRAME))
        for begin in range(0, len(samples), FRAME):
            self._voice.play(samples[begin : begin + FRAME])
            due_s += FRAME_S
            await asyncio.sleep(max(0.0, due_s - loop.time()))
