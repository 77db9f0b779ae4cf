#!/usr/bin/env bash
# livekit-agents 1.8.9: after the event loop stood still for 0.6 s, a call's recording has the caller's words of that time in
# about 0.1 s: up to five frames at the same place, added.
#
# With `record={"audio": True}` a session writes both sides to one Ogg file. One expects in it what the recognizer heard. When
# the loop stands still (a synchronous call in a tool, a model that is loaded, a busy machine), or frames come in one burst
# after a stall of the network, they wait in a queue, none is lost, and the recognizer has every word. But the recorder takes
# the time at which a frame leaves the queue for the time at which it was spoken. In a burst its own count runs ahead of that
# clock; at 0.1 s it begins anew at the clock's place, where it has written already, and adds. So just the words of a stall
# are a short loud noise in the recording, though the agent's answer fits them: whoever looks for the cause of a slow answer,
# or transcribes recordings for an evaluation, finds a caller who said nothing. No warning is logged. What helps: nothing
# that holds the loop for more than 0.1 s; a higher `RESYNC_TOLERANCE` in the recorder's module (with 10 s it is whole).
# Output seen, by the time the loop was held: 0.1 s: all of 4 s recorded; 0.3 s: 3.72 s, up to 3 times as loud as spoken; 0.6 s:
# 3.42 s, 5 times; 0.9 s: 3.13 s, 8.7 times. Each time the recognizer has all 200 frames.
# Seen with livekit-agents 1.8.9, livekit 1.1.21, av 18.1.0, Python 3.11. Exits with 0 while that is so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet livekit-agents==1.8.9 livekit==1.1.21 av==18.1.0
cat > "$folder/recording.py" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from types import SimpleNamespace

import av
import livekit.agents.voice.recorder_io.recorder_io as module
import numpy as np
from livekit import rtc
from livekit.agents.voice import io

HZ, SAMPLES, FRAMES, LEVEL = 24_000, 480, 200, 0.1  # 4 s of frames of 20 ms
BEGIN_S, HELD_AT_S = 1_000.0, 2.0
tone = (32767 * LEVEL * np.sin(2 * np.pi * 1_000 * np.arange(FRAMES * SAMPLES) / HZ)).astype(np.int16)
frames = [rtc.AudioFrame(part.tobytes(), HZ, 1, SAMPLES) for part in np.split(tone, FRAMES)]
clock = SimpleNamespace(time=lambda: clock.now, now=BEGIN_S)
module.time = clock  # the wall clock, so that a busy machine changes no figure


class Caller(io.AudioInput):
    """A caller in real time, whose frames nobody takes while the loop is held."""

    def __init__(self, held_s: float) -> None:
        super().__init__(label="caller")
        self.held_s, self.frames = held_s, iter(enumerate(frames))

    async def __anext__(self) -> rtc.AudioFrame:
        number, frame = next(self.frames)
        spoken_s = 0.02 * (number + 1)
        held = HELD_AT_S < spoken_s < HELD_AT_S + self.held_s
        clock.now = BEGIN_S + (HELD_AT_S + self.held_s if held else spoken_s)
        return frame


class Agent(io.AudioOutput):
    """An agent that says nothing."""

    def __init__(self) -> None:
        super().__init__(label="agent", capabilities=io.AudioOutputCapabilities(pause=True), sample_rate=HZ)

    async def capture_frame(self, frame: rtc.AudioFrame) -> None: ...
    def flush(self) -> None: ...
    def clear_buffer(self) -> None: ...


async def record(path: str, held_s: float) -> tuple[float, float]:
    """Record the caller while the loop is held once. Return the seconds of sound, and its peak."""
    clock.now = BEGIN_S
    recorder = module.RecorderIO(agent_session=None)
    heard = recorder.record_input(Caller(held_s))
    recorder.record_output(Agent())
    await recorder.start(output_path=path)
    assert [await anext(heard) for _ in range(FRAMES)] == frames  # what the recognizer gets
    await recorder.aclose()
    with av.open(path) as file:
        left = np.concatenate([frame.to_ndarray() for frame in file.decode(audio=0)], axis=1)[0]
    blocks = left[: len(left) // 480 * 480].reshape(-1, 480)  # 10 ms
    return 0.01 * np.count_nonzero(np.abs(blocks).max(axis=1) > LEVEL / 4), float(np.abs(left).max())


print(f"livekit-agents {version('livekit-agents')}, livekit {version('livekit')}, av {version('av')}")
found = {held_s: asyncio.run(record(sys.argv[1], held_s)) for held_s in (0.0, 0.1, 0.3, 0.6, 0.9)}
for held_s, (sound_s, peak) in found.items():
    print(f"  loop held {held_s} s: {sound_s:.2f} s of 4.00 s recorded, up to {peak / LEVEL:.1f} times as loud")
assert found[0.0][0] > 3.9 and found[0.0][1] < 1.5 * LEVEL, "the recording is not whole without a pause either"
assert found[0.6][0] < 3.7 and found[0.6][1] > 3 * LEVEL, "words after a pause are no longer on top of one another"
PYTHON
"$folder/venv/bin/python" "$folder/recording.py" "$folder/call.ogg"
