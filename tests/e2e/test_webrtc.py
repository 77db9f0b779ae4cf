"""A far end that speaks WebRTC calls a server, started as users start it, with recorded human speech."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from openai_types import proved
from recordings import recorded
from rtc_caller import RATE_HZ, rtc_calling
from served import served

ROOT = Path(__file__).parents[2]
FIXED = ROOT / "tests/bench/fixed.toml"
SILENCE = np.zeros(RATE_HZ * 3 // 2, np.int16)


async def test_a_turn_goes_over_the_audio_tracks_and_its_events_over_the_data_channel() -> None:
    async with served(ROOT / "configs/demo.toml") as address, rtc_calling(address) as caller:
        await caller.microphone.say(np.concatenate([recorded("goforward.wav", RATE_HZ), SILENCE]))
        understood = await caller.until("conversation.item.input_audio_transcription.completed")
        assert "forward" in understood["transcript"]
        started = await caller.until("output_audio_buffer.started")
        response = (await caller.until("response.done"))["response"]
        assert response["status"] == "completed"
        assert started["response_id"] == response["id"]
        stopped = await caller.until("output_audio_buffer.stopped")
        assert stopped["response_id"] == response["id"]
        assert not caller.of("response.output_audio.delta"), "the sound goes over the track"
        await caller.until_sound(0.5)
        loudness = np.sqrt(np.mean(caller.sound.astype(np.float64) ** 2))
        assert loudness > 500, "loud enough to be heard"
        for event in caller.events:
            proved(event)
