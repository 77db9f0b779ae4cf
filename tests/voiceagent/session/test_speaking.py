"""The agent's sound on its way out: how long its frames are, and how far ahead of real time they go."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

import numpy as np
import pytest
import structlog
from call_services import speaking
from call_settings import call_settings

from audio.pcm import AudioFormat, Samples
from audio.synthesizers import Speech
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.session.background import Background
from voiceagent.session.speaking import Speaker
from voiceagent.session.timers import Pacer

RATE_HZ = 8_000
SECOND = np.full(RATE_HZ, 1_000, np.int16)


class Mouth:
    rate_hz = RATE_HZ

    async def speak(self, text: str) -> AsyncGenerator[Speech, None]:
        yield Speech(SECOND)


async def a_speaker(
    frames: list[tuple[Samples, int]], clock: Callable[[], float], frame_s: float = 0.02
) -> Speaker:
    """One that gives these its frames, and their rates."""
    services = await speaking(Mouth(), AgentConfig(filler=""), Pacer(clock))
    speaker = Speaker(
        lambda response_id, frame, rate_hz: frames.append((frame, rate_hz)),
        lambda: None,
        services,
        post=lambda event: None,
        first_frame=lambda response_id, at_s: None,
        background=Background(lambda frame, rate_hz: None, services, structlog.get_logger()),
    )
    speaker.configure(call_settings(output_format=AudioFormat.PCM_8K, output_frame_s=frame_s))
    return speaker


async def sent_at_once(frame_s: float) -> list[Samples]:
    """Return the frames sent when a second of sound is available."""
    frames: list[tuple[Samples, int]] = []
    speaker = await a_speaker(frames, lambda: 100.0, frame_s)
    speaker.play("r1", SECOND)
    speaker.close()
    return [frame for frame, _ in frames]


async def test_frames_of_20_ms_go_out_60_ms_ahead():
    assert [len(frame) for frame in await sent_at_once(0.02)] == [160] * 3


@pytest.mark.parametrize("frame_s", [0.04, 0.06])
async def test_longer_frames_leave_the_event_loop_as_much_time(frame_s):
    frames = await sent_at_once(frame_s)
    ahead_s = sum(len(frame) for frame in frames) / RATE_HZ
    assert {len(frame) for frame in frames} == {round(frame_s * RATE_HZ)}
    assert ahead_s - frame_s <= 0.04 + 1e-9 <= ahead_s


async def test_a_paused_speaker_sends_nothing_and_goes_on_at_the_same_sample() -> None:
    now_s, frames = [100.0], list[tuple[Samples, int]]()
    speaker = await a_speaker(frames, lambda: now_s[0])
    ramp = np.arange(RATE_HZ, dtype=np.int16)
    speaker.play("r1", ramp)
    speaker.pause(True)
    sent = len(frames)
    now_s[0] = 110.0
    speaker.restore()  # the caller's voice was no interruption: that ends no pause
    speaker.played("r1", 0.06)
    assert (len(frames), speaker.position) == (sent, ("r1", pytest.approx(0.06)))
    speaker.pause(False)
    speaker.close()
    assert np.array_equal(np.concatenate([frame for frame, _ in frames]), ramp[: 160 * len(frames)])
    assert len(frames) > sent


async def test_a_response_that_begins_in_a_pause_waits_for_its_end() -> None:
    frames = list[tuple[Samples, int]]()
    speaker = await a_speaker(frames, lambda: 100.0)
    speaker.pause(True)
    speaker.play("r1", SECOND)
    assert not frames
    speaker.pause(False)
    assert frames
    speaker.close()


async def test_a_client_that_changes_the_format_hears_the_rest_at_its_rate():
    now_s, frames = [100.0], list[tuple[Samples, int]]()
    speaker = await a_speaker(frames, lambda: now_s[0])
    speaker.play("r1", SECOND)
    frames.clear()
    speaker.configure(call_settings(output_format=AudioFormat.PCM_24K))
    for tick in range(1, 26):
        now_s[0] = 100.0 + tick / 50
        speaker.played("r1", tick / 50)
    speaker.close()
    assert {rate_hz for _, rate_hz in frames} == {24_000}
    assert sum(len(frame) for frame, _ in frames) == pytest.approx(0.5 * 24_000, abs=200)


async def test_a_hold_after_the_last_frame_does_not_silence_the_next_response():
    now_s, frames = [100.0], list[tuple[Samples, int]]()
    speaker = await a_speaker(frames, lambda: now_s[0])
    speaker.play("r1", SECOND[:160])
    speaker.finish("r1")
    speaker.hold()
    now_s[0] = 101.0
    speaker.played("r1", 0.02)
    frames.clear()
    speaker.play("r2", SECOND)
    speaker.close()
    assert frames


async def test_audio_at_its_own_rate_is_not_resampled_to_the_synthesizers():
    frames: list[tuple[Samples, int]] = []
    speaker = await a_speaker(frames, lambda: 100.0)
    speaker.configure(call_settings(output_format=AudioFormat.PCM_24K))
    noise = np.random.default_rng(1).integers(-9_000, 9_000, 1_440, dtype=np.int16)
    speaker.play("r1", noise, 24_000)
    speaker.close()
    assert (np.concatenate([frame for frame, _ in frames]) == noise).all()
