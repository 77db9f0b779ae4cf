#!/usr/bin/env bash
# aiortc 1.16.0: after `replaceTrack` a libwebrtc client hears nothing for as long as the first track has played, if that was
# less than about 5 s.
#
# An agent plays "one moment, please" or hold music, and replaces that track by the answer's. W3C's `replaceTrack` switches
# without renegotiation, and one expects the caller to hear the new track at once. But the sender adds each frame's own `pts` to
# one constant, and a new track counts from zero, as aiortc's own tracks do: the RTP timestamp jumps back by what the first
# track has played. libwebrtc's jitter buffer takes these packets for late ones and discards them, until they pass the old
# place. Only after a jump of more than about 5 s does it begin anew, so music of 8 s loses nothing, and a filler of 3 s takes the
# first 3 s of the answer with it. Sequence numbers go on, `packetsReceived` counts all, and no warning is logged. aiortc's own
# buffer orders by sequence number, so a test between two aiortc peers hears everything. What helps: a `pts` that goes on from
# the last track's, as below, or one track for the whole call that changes its source.
# Output seen: of the new track's 200 packets discarded, after 1, 3, 8 s of the first track: 51, 151, 0; heard of its 4 s: 3.3,
# 1.2, 4.1; after 3 s, with a `pts` that goes on: 0 discarded, 4.1 s heard. Chromium 150 discards as many.
# Seen with aiortc 1.16.0, av 18.1.0, @roamhq/wrtc 0.10.0 (libwebrtc M106), Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-compile aiortc==1.16.0 av==18.1.0 numpy
npm install --silent --no-fund --no-audit --prefix "$folder" @roamhq/wrtc@0.10.0
cat > "$folder/caller.js" <<'JAVASCRIPT'
// Answers an offer, then prints, once asked, the statistics and the seconds heard of the second track's tone.
const { RTCPeerConnection, nonstandard } = require("@roamhq/wrtc");
const connection = new RTCPeerConnection();
let heardS = 0;
connection.ontrack = ({ track }) => {
  new nonstandard.RTCAudioSink(track).ondata = ({ samples, sampleRate }) => {
    let crossings = 0, loudest = 0;
    for (let i = 1; i < samples.length; i++) {
      crossings += samples[i] >= 0 !== samples[i - 1] >= 0;
      loudest = Math.max(loudest, Math.abs(samples[i]));
    }
    const hz = (crossings * sampleRate) / samples.length / 2;
    if (loudest > 2000 && hz > 1200 && hz < 1800) heardS += samples.length / sampleRate;
  };
};
const lines = require("readline").createInterface({ input: process.stdin });
lines.on("close", () => process.exit());
lines.on("line", async (line) => {
  if (line) {
    await connection.setRemoteDescription({ type: "offer", sdp: JSON.parse(line) });
    await connection.setLocalDescription(await connection.createAnswer());
    while (connection.iceGatheringState !== "complete") await new Promise((resolve) => setTimeout(resolve, 20));
    return console.log(JSON.stringify(connection.localDescription.sdp));
  }
  for (const stats of (await connection.getStats()).values())
    if (stats.type === "inbound-rtp") console.log(JSON.stringify([stats.packetsDiscarded, heardS]));
  process.exit();
});
JAVASCRIPT
cat > "$folder/replaced.py" <<'PYTHON'
import asyncio
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from av import AudioFrame

HZ, SAMPLES, SECOND_S = 48_000, 960, 4
CALLER = str(Path(__file__).with_name("caller.js"))


class Tone(MediaStreamTrack):
    """A tone of this frequency and length in real time, whose `pts` counts samples from `pts`."""

    kind = "audio"

    def __init__(self, tone_hz: int, length_s: int, pts: int = 0) -> None:
        super().__init__()
        self.tone_hz, self.frames, self.pts, self.sent = tone_hz, length_s * HZ // SAMPLES, pts, 0
        self.ended = asyncio.Event()

    async def recv(self) -> AudioFrame:
        loop = asyncio.get_running_loop()
        if self.sent == self.frames:
            self.ended.set()
            await loop.create_future()
        self.begun_s = getattr(self, "begun_s", loop.time())
        await asyncio.sleep(self.begun_s + self.sent * SAMPLES / HZ - loop.time())
        ticks = np.arange(self.sent * SAMPLES, (self.sent + 1) * SAMPLES)
        sound = (8_000 * np.sin(2 * np.pi * self.tone_hz * ticks / HZ)).astype(np.int16)
        frame = AudioFrame.from_ndarray(sound[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = HZ, self.pts + self.sent * SAMPLES, Fraction(1, HZ)
        self.sent += 1
        return frame


async def call(first_s: int, goes_on: bool = False) -> tuple[int, float]:
    """Return the packets that the caller discarded, and the seconds heard of the second track."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    caller = await asyncio.create_subprocess_exec("node", CALLER, **pipes)
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    first = Tone(500, first_s)
    sender = connection.addTrack(first)
    await connection.setLocalDescription(await connection.createOffer())
    caller.stdin.write(json.dumps(connection.localDescription.sdp).encode() + b"\n")
    answer = json.loads(await caller.stdout.readline())
    await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
    first.frames += 1  # of which `recv` gives the last one after the replacement
    while first.sent < first.frames - 1:
        await asyncio.sleep(0.01)
    second = Tone(1_500, SECOND_S, first.frames * SAMPLES if goes_on else 0)
    sender.replaceTrack(second)
    await second.ended.wait()
    await asyncio.sleep(0.5)
    caller.stdin.write(b"\n")
    discarded, heard_s = json.loads(await caller.stdout.readline())
    await asyncio.gather(caller.wait(), connection.close())
    print(f"first track {first_s} s, pts goes on: {goes_on}: {discarded} discarded, {heard_s:.1f} s heard of {SECOND_S}")
    return discarded, heard_s


async def main() -> None:
    one, three, eight, going_on = await asyncio.gather(call(1), call(3), call(8), call(3, goes_on=True))
    assert 35 < one[0] < 75, one
    assert 110 < three[0] < 175 and three[1] < SECOND_S / 2, three
    assert eight[0] < 25 and eight[1] > three[1] + 1, (eight, three)
    assert going_on[0] < 25 and going_on[1] > three[1] + 1, (going_on, three)


asyncio.run(main())
PYTHON
cd "$folder"
"$folder/venv/bin/python" "$folder/replaced.py"
