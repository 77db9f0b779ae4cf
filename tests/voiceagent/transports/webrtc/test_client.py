"""Events about the agent's audio that a client of a call over WebRTC gets."""

from __future__ import annotations

import json

import numpy as np

from voiceagent.transports.webrtc.endpoint import WebRtcClient

FRAME = np.zeros(480, np.int16)


async def sent(client: WebRtcClient) -> list[tuple[str, str]]:
    """Return the type and response of each queued event."""
    events = [json.loads(await client.outbox.next()) for _ in range(len(client.outbox))]
    return [(event["type"], event["response_id"]) for event in events]


async def test_the_audio_of_a_response_is_announced_once() -> None:
    client = WebRtcClient("rtc_1", 60.0)
    client.play("resp_1", FRAME)
    client.play("resp_1", FRAME)
    client.clear()
    assert await sent(client) == [
        ("output_audio_buffer.started", "resp_1"),
        ("output_audio_buffer.cleared", "resp_1"),
    ]


async def test_audio_outside_responses_is_not_announced() -> None:
    client = WebRtcClient("rtc_1", 60.0)
    client.play("", FRAME)
    client.clear()
    assert await sent(client) == []
