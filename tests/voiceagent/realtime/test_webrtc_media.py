"""The sound of a WebRTC call between packets and samples."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from aiortc.mediastreams import MediaStreamError
from aiortc.rtp import RtpPacket

from audio.opus import OpusEncoder
from audio.pcm import Samples
from voiceagent.realtime.webrtc_media import AgentTrack, CallerAudio

FRAME: Samples = (8000 * np.sin(np.arange(480) / 5)).astype(np.int16)


class Clock:
    """A clock that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def packets(count: int) -> list[RtpPacket]:
    """A voice in packets, just before the counters wrap."""
    encoder, made = OpusEncoder(), []
    for number in range(count):
        packet = RtpPacket(
            payload_type=111,
            sequence_number=(65_530 + number) % 65_536,
            timestamp=(2**32 - 960 + number * 960) % 2**32,
        )
        packet.payload = encoder.encode(FRAME)
        made.append(packet)
    return made


async def test_sound_is_heard_as_its_packets_come() -> None:
    heard: list[Samples] = []
    audio = CallerAudio(heard.append, Clock())
    for number, packet in enumerate(packets(20), 1):
        assert audio.add(packet) == (False, None), "nothing is left to aiortc"
        assert sum(map(len, heard)) == number * 480


async def test_what_is_lost_is_concealed_so_that_no_time_is_missing() -> None:
    heard: list[Samples] = []
    clock = Clock()
    audio = CallerAudio(heard.append, clock)
    for number, packet in enumerate(packets(50)):
        clock.now_s = 100.0 + number * 0.02
        if number % 10 != 5:
            audio.add(packet)
    assert sum(map(len, heard)) == 50 * 480
    sound = np.concatenate(heard).astype(float).reshape(-1, 480)
    assert np.sqrt(np.mean(sound**2, axis=1))[5:].min() > 1000, "no hole is left"


async def test_a_packet_behind_a_gap_is_heard_though_no_other_follows() -> None:
    heard: list[Samples] = []
    audio = CallerAudio(heard.append, asyncio.get_running_loop().time)
    made = packets(3)
    audio.add(made[0])
    audio.add(made[2])
    async with asyncio.timeout(5):
        while sum(map(len, heard)) < 3 * 480:  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.005)


async def test_what_is_no_opus_is_as_good_as_lost() -> None:
    heard: list[Samples] = []
    clock = Clock()
    audio = CallerAudio(heard.append, clock)
    made = packets(6)
    made[2].payload = b"\xff\xff\xff"
    for number, packet in enumerate(made):
        clock.now_s = 100.0 + number * 0.02
        audio.add(packet)
    assert sum(map(len, heard)) == 6 * 480


async def test_nothing_is_sent_while_the_agent_is_silent_and_time_goes_on_in_whole_frames() -> None:
    clock = Clock()
    track = AgentTrack(clock)
    track.play(FRAME)
    track.play(FRAME)
    clock.now_s += 1.013
    track.play(FRAME)
    stamps = [(await track.recv()).pts for _ in range(3)]
    assert stamps == [0, 960, 51 * 960]
    waiting = asyncio.create_task(track.recv())
    await asyncio.sleep(0)
    assert not waiting.done()
    track.stop()
    with pytest.raises(MediaStreamError):
        await waiting


async def test_what_was_not_sent_is_dropped_at_once() -> None:
    track = AgentTrack(Clock())
    for _ in range(5):
        track.play(FRAME)
    await track.recv()
    track.drop()
    track.play(FRAME)
    assert (await track.recv()).pts == 5 * 960


async def test_a_line_that_takes_nothing_keeps_a_second_at_most() -> None:
    track = AgentTrack(Clock())
    for _ in range(500):
        track.play(FRAME)
    assert (await track.recv()).pts == 450 * 960
