"""Recordings over a line that loses and delays WebRTC packets, in virtual time.

Uses the server's own jitter buffer, decoder and concealment. Delay itself does not matter, as calls count
time in samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

from audio.jitter import Gap, JitterBuffer, MediaPacket
from audio.opus import OpusDecoder
from audio.pcm import Samples
from audio.resample import resample
from voiceagent.bench.caller import FRAME_S
from voiceagent.bench.webrtc_connection import PERFECT, Line
from voiceagent.bench.wires import WebRtcWire, frames_of
from voiceagent.transports.local_call import FORMAT
from voiceagent.transports.webrtc.media import CALLER_HZ, FRAME_TICKS, RTP_HZ, sound_of

_SILENCE_S = 0.5
"""Silence before and after a recording, so that losses at its ends are concealed too."""


def over_line(sound: Samples, line: Line, seed: str) -> Samples:
    """Return a recording [n] at 24 kHz as received over such a line; `seed` decides on the losses."""
    if line == PERFECT:
        return sound
    silence = np.zeros(round(_SILENCE_S * FORMAT.rate_hz), np.int16)
    wire = WebRtcWire(0.0, line.loss)
    packets = frames_of(wire, np.concatenate([silence, sound, silence]))
    heard = np.concatenate(list(_heard(packets, line, Random(seed))))
    return resample(heard, CALLER_HZ, FORMAT.rate_hz)[len(silence) :][: len(sound)]


def _heard(packets: Sequence[bytes], line: Line, random: Random) -> Iterator[Samples]:
    """Yield the received audio at `CALLER_HZ`; the first packet always arrives, as it starts the clock."""
    buffer, decoder = JitterBuffer(RTP_HZ), OpusDecoder(CALLER_HZ)

    def decoded(ready: list[MediaPacket | Gap]) -> Iterator[Samples]:
        return (sound_of(piece, decoder) for piece in ready)

    for now_s, number in _arrivals(len(packets), line, random):
        while (due_s := buffer.next_due_s()) is not None and due_s <= now_s:
            yield from decoded(buffer.due(due_s))
        packet = MediaPacket(number, number * FRAME_TICKS, packets[number], FRAME_TICKS)
        yield from decoded(buffer.push(packet, now_s))
    while (due_s := buffer.next_due_s()) is not None:
        yield from decoded(buffer.due(due_s))


def _arrivals(count: int, line: Line, random: Random) -> list[tuple[float, int]]:
    """Return arrival time and number of the packets that arrive, in order of arrival."""
    return sorted(
        (number * FRAME_S + random.uniform(0, line.jitter_s), number)
        for number in range(count)
        if random.random() >= line.loss or not number
    )
