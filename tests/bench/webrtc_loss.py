"""Compare our jitter buffer with aiortc's on the same packets, with losses.

python tests/bench/webrtc_loss.py RECORDING.wav

A line that takes 30 ms, give or take up to 5, and loses packets by a fixed sequence. Printed: the delay from
a frame's last sample to when it can be heard, and the share of the sound that is missing altogether.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from aiortc.codecs.opus import OpusDecoder as StockDecoder
from aiortc.jitterbuffer import JitterBuffer as StockBuffer
from aiortc.rtp import RtpPacket

from audio.jitter import Gap, JitterBuffer, MediaPacket
from audio.opus import RATE_HZ, OpusDecoder, OpusEncoder
from audio.resample import resample
from audio.wav import read_wav

FRAME_S = 0.02
FRAME = 960
LINE_S = 0.03
JITTER_S = 0.005
REPEATS = 10
"""The recording is said so often: a call of a minute or two."""
CASES: dict[str, Callable[[int, random.Random], bool]] = {
    "none lost": lambda number, chance: False,
    "one lost": lambda number, chance: number == 500,
    "2 % lost": lambda number, chance: chance.random() < 0.02,
    "5 % lost": lambda number, chance: chance.random() < 0.05,
    "10 % lost": lambda number, chance: chance.random() < 0.10,
}


@dataclass
class Heard:
    """delays_s: of each frame that was heard, by its place. samples: all that came out, at 24 kHz."""

    delays_s: dict[int, float] = field(default_factory=dict)
    samples: int = 0


def ours(arrivals: list[tuple[float, int, bytes]]) -> Heard:
    """Through our buffer and libopus."""
    heard, buffer, decoder = Heard(), JitterBuffer(48_000), OpusDecoder()

    def take(ready: list[MediaPacket | Gap], now_s: float) -> None:
        for piece in ready:
            if isinstance(piece, Gap):
                heard.samples += len(decoder.conceal(piece.samples // 2, piece.next_payload))
            else:
                heard.delays_s[piece.sequence] = now_s - (piece.sequence + 1) * FRAME_S
                heard.samples += len(decoder.decode(piece.payload))

    for now_s, number, payload in arrivals:
        while (due_s := buffer.next_due_s()) is not None and due_s <= now_s:
            take(buffer.due(due_s), due_s)
        take(buffer.push(MediaPacket(number, number * FRAME, payload, FRAME), now_s), now_s)
    return heard


def stock(arrivals: list[tuple[float, int, bytes]]) -> Heard:
    """Through aiortc's buffer and decoder, as its receiver uses them for sound."""
    heard, buffer, decoder = Heard(), StockBuffer(capacity=16, prefetch=4), StockDecoder()
    for now_s, number, payload in arrivals:
        packet = RtpPacket(sequence_number=number, timestamp=number * FRAME)
        packet._data = payload  # type: ignore[attr-defined]
        _, frame = buffer.add(packet)
        if frame is not None:
            heard.delays_s[frame.timestamp // FRAME] = now_s - (frame.timestamp // FRAME + 1) * FRAME_S
            heard.samples += sum(sound.samples for sound in decoder.decode(frame)) // 2  # type: ignore[attr-defined]
    return heard


def main() -> None:
    """Print one line a case and buffer."""
    samples, from_hz = read_wav(Path(sys.argv[1]))
    sound = resample(samples, from_hz, RATE_HZ)
    encoder = OpusEncoder(speech_coder=True)
    encoder.expect_loss(0.1)
    frames = [sound[at : at + 480] for at in range(0, len(sound) - 480, 480)] * REPEATS
    packets = [encoder.encode(frame) for frame in frames]
    print(f"{len(packets) * FRAME_S:.0f} s of speech")
    for name, lost in CASES.items():
        chance = random.Random(1)
        jitter = random.Random(2)
        sent = [
            ((number + 1) * FRAME_S + LINE_S + jitter.uniform(-JITTER_S, JITTER_S), number, packet)
            for number, packet in enumerate(packets)
            if not lost(number, chance)
        ]
        for buffer, run in (("ours", ours), ("aiortc's", stock)):
            print(f"{name:10} {buffer:9} {_told(run(sorted(sent)), len(packets))}")


def _told(heard: Heard, frames: int) -> str:
    delays_ms = [delay_s * 1000 for delay_s in heard.delays_s.values()]
    last_ms = median(delays_ms[-100:])
    p95_ms = quantiles(delays_ms, n=20)[-1]
    missing = 1 - heard.samples / (frames * 480)
    return (
        f"delay p50 {median(delays_ms):4.0f}, p95 {p95_ms:4.0f}, most {max(delays_ms):4.0f}, "
        f"last 2 s {last_ms:4.0f} ms; missing {missing * 100:4.1f} %"
    )


if __name__ == "__main__":
    main()
