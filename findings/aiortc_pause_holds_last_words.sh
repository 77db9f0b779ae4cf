#!/usr/bin/env bash
# aiortc 1.16.0 and Opus with DTX: the last 80 ms of an utterance are heard 0.4 to 1.6 s late, and three seconds of the
# pause after it are 60 ms of sound.
#
# With `usedtx=1` in the SDP (RFC 7587, section 3.1.3) a client sends one packet each 400 ms while the caller is silent. One
# expects the jitter buffer to delay by a constant, and frames of 20 ms in real time as from any source. But the buffer counts
# packets: four newer ones release a frame, and in a pause each of them takes 400 ms, so the end of a question waits for 1.6 s
# of the pause after it. And `recv` gives one frame a packet: whatever measures silence by samples, as voice activity
# detection does, finds 20 ms where 400 have passed, so that 0.5 s of silence, which end a turn, take ten. Only the frames'
# `pts` show the gap. What helps: no `usedtx` in the answer; silence by the clock; a buffer that releases by time.
# Output seen: the last six frames come late by 0.08 0.08 0.46 0.84 1.22 1.6 s; in 3 s of pause three frames of 20 ms.
# Seen with aiortc 1.16.0, av 18.1.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet aiortc==1.16.0 av==18.1.0 numpy
cat > "$folder/pause.py" <<'PYTHON'
import asyncio
from contextlib import suppress
from fractions import Fraction
from time import monotonic

import aiortc
import av
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection

HZ, SAMPLES = 48_000, 960
TALK, PAUSE, REFRESH = 100, 150, 20  # packets: of a tone, of the pause, and of that each 20th is sent


def encoded() -> list[av.Packet]:
    """Return a packet for each 20 ms of a tone and a pause."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format = HZ, "mono", "s16"
    ticks = np.arange((TALK + PAUSE + REFRESH) * SAMPLES)
    sound = (8_000 * np.sin(2 * np.pi * 440 * ticks / HZ) * (ticks < TALK * SAMPLES)).astype(np.int16)
    frame = av.AudioFrame.from_ndarray(sound[np.newaxis], format="s16", layout="mono")
    frame.sample_rate = HZ
    return encoder.encode(frame) + encoder.encode(None)


class Caller(MediaStreamTrack):
    """Packets as a client with DTX sends them. sent_s: when, by number."""

    kind = "audio"

    def __init__(self) -> None:
        super().__init__()
        self.packets = encoded()
        self.numbers = [number for number in range(TALK + PAUSE + REFRESH) if number < TALK or number % REFRESH == 19]
        self.sent_s: dict[int, float] = {}

    async def recv(self) -> av.Packet:
        number = self.numbers.pop(0)
        begun_s = self.sent_s.setdefault(0, monotonic())
        await asyncio.sleep(begun_s + number * SAMPLES / HZ - monotonic())
        self.sent_s[number], packet = monotonic(), self.packets[number]
        packet.pts, packet.time_base = number * SAMPLES, Fraction(1, HZ)
        return packet


async def main() -> None:
    caller, callee = (RTCPeerConnection(RTCConfiguration(iceServers=[])) for _ in range(2))
    tracks: asyncio.Queue[MediaStreamTrack] = asyncio.Queue()
    callee.on("track", tracks.put_nowait)
    talk = Caller()
    caller.addTrack(talk)
    await caller.setLocalDescription(await caller.createOffer())
    await callee.setRemoteDescription(caller.localDescription)
    await callee.setLocalDescription(await callee.createAnswer())
    await caller.setRemoteDescription(callee.localDescription)
    track, came_s = await tracks.get(), {}
    while talk.numbers:
        with suppress(TimeoutError):
            frame = await asyncio.wait_for(track.recv(), 0.5)
            came_s[frame.pts // SAMPLES] = monotonic()
    late_s = [round(came_s[number] - talk.sent_s[number], 2) for number in range(TALK - 6, TALK)]
    print("aiortc", aiortc.__version__, "the last frames of the utterance come late by", late_s, "s")
    pause = sum(number >= TALK for number in came_s)
    print("3 s of pause:", pause, "frames of 20 ms")
    await caller.close()
    await callee.close()
    assert late_s[1] < 0.3 and late_s[-1] > 1.4 and pause == 3


asyncio.run(asyncio.wait_for(main(), 60))
PYTHON
"$folder/venv/bin/python" "$folder/pause.py"
