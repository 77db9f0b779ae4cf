#!/usr/bin/env bash
# aiortc 1.16.0 and libwebrtc: seconds after `replaceTrack` the new track falls silent for the caller, until it is as old as
# the one before it was.
#
# One expects of `RTCRtpSender.replaceTrack` what it does in a browser: the music on hold ends, and the agent's voice goes on
# in its place. A new track counts its frames' `pts` from 0, as aiortc's own tracks do. The sender adds them to one offset
# that it drew at the start, so the RTP timestamps go back to where the call began, while the sequence numbers go on.
# libwebrtc's jitter buffer then discards packets until their timestamps are past what it has played. In Chromium 150 the new
# track is heard for 5 s, and then comes silence in the midst of a reply: 1.7 s after 7 s of music, 4.3 s after 10 s, none after
# 5 s; on a machine under load the silence began 0.3 s after the change. Each packet arrives (`packetsLost` is 0), and nothing
# is logged. For video an issue of 2020 tells of frozen pictures; the documentation says nothing. What helps: one track for
# the whole call that changes its source by itself, or `pts` that go on.
# Output seen: of 9 s of a track after 10 s of another 7.39 s heard, 88 packets discarded; with `pts` that go on 8.93 s and 1.
# Seen with aiortc 1.16.0, av 18.1.0, Python 3.11, @roamhq/wrtc 0.10.0, Node 20. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet aiortc==1.16.0 av==18.1.0 numpy
npm install --prefix "$folder" --silent --no-audit --no-fund @roamhq/wrtc@0.10.0
cat > "$folder/caller.js" <<'JAVASCRIPT'
const { RTCPeerConnection, nonstandard } = require("@roamhq/wrtc");
const lines = require("readline").createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let blocks = 0; // of 10 ms, of the second tone
function hear({ samples, sampleRate }) {
  const crossings = samples.filter((sample, i) => i && sample < 0 !== samples[i - 1] < 0).length;
  if (Math.max(...samples) > 1000 && (crossings * sampleRate) / samples.length > 2000) blocks++;
}
(async () => {
  const connection = new RTCPeerConnection();
  connection.ontrack = ({ track }) => (new nonstandard.RTCAudioSink(track).ondata = hear);
  await connection.setRemoteDescription(JSON.parse((await lines.next()).value));
  await connection.setLocalDescription(await connection.createAnswer());
  while (connection.iceGatheringState !== "complete") await new Promise((wait) => setTimeout(wait, 20));
  console.log(JSON.stringify({ type: "answer", sdp: connection.localDescription.sdp }));
  await lines.next();
  const inbound = [...(await connection.getStats()).values()].find(({ type }) => type === "inbound-rtp");
  console.log(JSON.stringify({ heard_s: blocks / 100, discarded: inbound.packetsDiscarded, lost: inbound.packetsLost }));
  process.exit();
})();
JAVASCRIPT
cat > "$folder/agent.py" <<'PYTHON'
import asyncio
import json
import sys
from fractions import Fraction
from importlib.metadata import version
from time import monotonic

import numpy as np
from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
from av import AudioFrame

HZ, SAMPLES, FIRST_S, SECOND_S = 48_000, 960, 10, 9


class Tone(MediaStreamTrack):
    """A tone in real time, whose `pts` begin at this one."""

    kind = "audio"

    def __init__(self, hz: int, first_pts: int = 0) -> None:
        super().__init__()
        self.hz, self.pts, self.begin = hz, first_pts, monotonic() - first_pts / HZ

    async def recv(self) -> AudioFrame:
        await asyncio.sleep(max(0.0, self.begin + self.pts / HZ - monotonic()))
        wave = 8_000 * np.sin(2 * np.pi * self.hz * (self.pts + np.arange(SAMPLES)) / HZ)
        frame = AudioFrame.from_ndarray(wave.astype(np.int16)[np.newaxis], format="s16", layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = HZ, self.pts, Fraction(1, HZ)
        self.pts += SAMPLES
        return frame


async def call(goes_on: bool) -> dict:
    """Let a caller hear one tone and then another. Return what the caller heard of the second."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE}
    caller = await asyncio.create_subprocess_exec("node", "caller.js", cwd=sys.argv[1], **pipes)
    connection, first = RTCPeerConnection(), Tone(400)
    sender = connection.addTrack(first)
    await connection.setLocalDescription(await connection.createOffer())
    caller.stdin.write(json.dumps({"type": "offer", "sdp": connection.localDescription.sdp}).encode() + b"\n")
    await connection.setRemoteDescription(RTCSessionDescription(**json.loads(await caller.stdout.readline())))
    await asyncio.sleep(FIRST_S)
    sender.replaceTrack(Tone(1600, first.pts if goes_on else 0))
    await asyncio.sleep(SECOND_S)
    heard = json.loads((await caller.communicate(b"{}\n"))[0])
    await connection.close()
    return heard


print(f"aiortc {version('aiortc')}, av {version('av')}: {SECOND_S} s of a track after {FIRST_S} s of another")
anew, goes_on = asyncio.run(call(False)), asyncio.run(call(True))
print(f"  its pts from 0: {anew}\n  its pts go on: {goes_on}")
assert anew["discarded"] > 50 and anew["heard_s"] < goes_on["heard_s"] - 1, "the new track is heard"
assert goes_on["discarded"] < 20, "nor is it heard with pts that go on"
PYTHON
"$folder/venv/bin/python" "$folder/agent.py" "$folder"
