"""The agent's sound on its way out: how long its frames are, and how far ahead of real time they go."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import numpy as np
import pytest
from call_services import speaking
from call_settings import call_settings

from audio.pcm import AudioFormat, Samples
from audio.synthesizers import Speech
from voiceagent.conversation.config import AgentConfig
from voiceagent.session.speaking import Speaker
from voiceagent.session.timers import Pacer

RATE_HZ = 8_000
SECOND = np.full(RATE_HZ, 1_000, np.int16)


class Mouth:
    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(SECOND)


async def sent_at_once(frame_s: float) -> list[Samples]:
    """What goes out when a second of sound is there."""
    frames: list[Samples] = []
    speaker = Speaker(
        lambda response_id, frame, rate_hz: frames.append(frame),
        lambda: None,
        await speaking(Mouth(), AgentConfig(filler=""), Pacer(lambda: 100.0)),
        post=lambda event: None,
        first_frame=lambda response_id, at_s: None,
    )
    speaker.configure(call_settings(output_format=AudioFormat.PCM_8K, output_frame_s=frame_s))
    speaker.play("r1", SECOND)
    speaker.close()
    return frames


async def test_frames_of_20_ms_go_out_60_ms_ahead():
    assert [len(frame) for frame in await sent_at_once(0.02)] == [160] * 3


@pytest.mark.parametrize("frame_s", [0.04, 0.06])
async def test_longer_frames_leave_the_event_loop_as_much_time(frame_s):
    frames = await sent_at_once(frame_s)
    ahead_s = sum(len(frame) for frame in frames) / RATE_HZ
    assert {len(frame) for frame in frames} == {round(frame_s * RATE_HZ)}
    assert ahead_s - frame_s <= 0.04 + 1e-9 <= ahead_s
