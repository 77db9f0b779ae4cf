"""Events of a Realtime client over WebRTC for the agent's audio."""

from __future__ import annotations

import numpy as np

from voiceagent.transports.webrtc.client import WebRtcClient

FRAME = np.zeros(480, np.int16)


async def test_audio_outside_of_responses_has_no_event() -> None:
    client = WebRtcClient("rtc_1", 60.0)
    client.play("", FRAME)
    client.clear()
    assert not client.outbox
    client.play("resp_1", FRAME)
    assert client.outbox
