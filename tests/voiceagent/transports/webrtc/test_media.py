"""The sound of a WebRTC call between packets and samples."""

from __future__ import annotations

import asyncio

import numpy as np
from clock import Clock

from audio.opus import OpusEncoder
from audio.pcm import Samples
from voiceagent.transports.webrtc.media import CALLER_HZ, AgentVoice, CallerAudio
from voiceagent.transports.webrtc.rtp import RtpPacket

HEARD = CALLER_HZ // 50
FRAME: Samples = (8000 * np.sin(np.arange(480) / 5)).astype(np.int16)


def packets(count: int) -> list[RtpPacket]:
    """A voice in packets, just before the counters wrap."""
    encoder, made = OpusEncoder(), []
    for number in range(count):
        sequence_number, timestamp = (65_530 + number) % 2**16, (2**32 - 960 + number * 960) % 2**32
        made.append(RtpPacket(111, sequence_number, timestamp, 1, encoder.encode(FRAME)))
    return made


async def test_sound_is_heard_as_its_packets_come() -> None:
    heard: list[Samples] = []
    audio = CallerAudio(heard.append, Clock())
    for number, packet in enumerate(packets(20), 1):
        audio.add(packet)
        assert sum(map(len, heard)) == number * HEARD


async def test_what_is_lost_is_concealed_so_that_no_time_is_missing() -> None:
    heard: list[Samples] = []
    clock = Clock()
    audio = CallerAudio(heard.append, clock)
    for number, packet in enumerate(packets(50)):
        clock.now_s = 100.0 + number * 0.02
        if number % 10 != 5:
            audio.add(packet)
    assert sum(map(len, heard)) == 50 * HEARD
    sound = np.concatenate(heard).astype(float).reshape(-1, HEARD)
    assert np.sqrt(np.mean(sound**2, axis=1))[5:].min() > 1000, "no hole is left"


async def test_what_stands_for_a_gap_is_told_from_what_came() -> None:
    """The call may have inserted silence for the gap already."""
    heard: list[Samples] = []
    gaps: list[Samples] = []
    audio = CallerAudio(heard.append, Clock(), gaps.append)
    first, second = packets(2)
    audio.add(first)
    audio.add(second._replace(timestamp=(second.timestamp + 19 * 960) % 2**32))  # 0.38 s of silence
    assert [len(sound) for sound in heard] == [HEARD] * 2
    assert sum(map(len, gaps)) == 19 * HEARD


async def test_a_packet_behind_a_gap_is_heard_though_no_other_follows() -> None:
    heard: list[Samples] = []
    audio = CallerAudio(heard.append, asyncio.get_running_loop().time)
    made = packets(3)
    audio.add(made[0])
    audio.add(made[2])
    async with asyncio.timeout(5):
        while sum(map(len, heard)) < 3 * HEARD:  # noqa: ASYNC110  there is no event for it
            await asyncio.sleep(0.005)


async def test_what_is_no_opus_is_as_good_as_lost() -> None:
    heard: list[Samples] = []
    clock = Clock()
    audio = CallerAudio(heard.append, clock)
    made = packets(6)
    made[2] = made[2]._replace(payload=b"\xff\xff\xff")
    for number, packet in enumerate(made):
        clock.now_s = 100.0 + number * 0.02
        audio.add(packet)
    assert sum(map(len, heard)) == 6 * HEARD


def test_a_silent_agent_sends_nothing_while_time_goes_on() -> None:
    clock = Clock()
    voice = AgentVoice(clock)
    sent: list[tuple[int, bool]] = []
    voice.send = lambda payload, timestamp, first: sent.append((timestamp, first))
    voice.play(FRAME)
    voice.play(FRAME)
    clock.now_s += 1.013
    voice.play(FRAME)
    assert sent == [(0, True), (960, False), (51 * 960, True)]


def test_a_voice_without_a_line_is_lost_and_time_goes_on() -> None:
    voice = AgentVoice(Clock())
    voice.play(FRAME)
    sent: list[int] = []
    voice.send = lambda payload, timestamp, first: sent.append(timestamp)
    voice.play(FRAME)
    assert sent == [960]
