"""Measure what 20 ms cost with libopus, by coder and complexity, compared with aiortc's own codec.

pip install pesq==0.0.4     how good it sounds, by ITU-T P.862.2
python tests/bench/opus_cost.py RECORDING.wav
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
from aiortc.codecs.opus import OpusDecoder as StockDecoder
from aiortc.codecs.opus import OpusEncoder as StockEncoder
from aiortc.jitterbuffer import JitterFrame
from av import AudioFrame
from pesq import pesq

from audio.opus import RATE_HZ, OpusDecoder, OpusEncoder
from audio.pcm import Samples
from audio.resample import resample
from audio.wav import read_wav

CODERS = [
    (32_000, True, 0),
    (32_000, True, 5),
    (32_000, False, 0),
    (48_000, False, 0),
    (64_000, False, 0),
    (64_000, False, 5),
]
"""Bits a second, whether by the speech coder, complexity."""
ROUNDS = 5
PESQ_HZ = 16_000


def frames_of(path: Path, rate_hz: int) -> list[Samples]:
    """The recording in frames of 20 ms."""
    samples, from_hz = read_wav(path)
    sound = resample(samples, from_hz, rate_hz)
    size = rate_hz // 50
    return [sound[at : at + size] for at in range(0, len(sound) - size, size)]


def frame_us(act: Callable[[], int]) -> float:
    """Return CPU microseconds a frame: the median of rounds of `act`, which returns its number of frames."""
    return median(_timed(act) for _ in range(ROUNDS))


def _timed(act: Callable[[], int]) -> float:
    before_s = time.process_time()
    count = act()
    return (time.process_time() - before_s) * 1e6 / count


def quality(frames: list[Samples], packets: list[bytes]) -> float:
    """Return the quality of the decoded sound against the original, 1 to 4.64."""
    decoder = OpusDecoder()
    decoded = np.concatenate([decoder.decode(packet) for packet in packets])
    both = (resample(sound, RATE_HZ, PESQ_HZ) for sound in (np.concatenate(frames), decoded))
    return float(pesq(PESQ_HZ, *both, "wb"))


def main() -> None:
    path = Path(sys.argv[1])
    frames = frames_of(path, RATE_HZ)
    for bitrate, speech_coder, complexity in CODERS:
        encoder = OpusEncoder(bitrate, complexity, speech_coder=speech_coder)
        packets = [encoder.encode(frame) for frame in frames]

        def encode(encoder: OpusEncoder = encoder) -> int:
            return len([encoder.encode(frame) for frame in frames])

        cost = frame_us(encode)
        size = np.mean([len(packet) for packet in packets]) * 8 * 50 / 1000
        coder = "speech coder" if speech_coder else "transform"
        good = quality(frames, packets)
        print(f"{coder}, complexity {complexity}: {cost:.1f} us, {size:.1f} kb/s, PESQ {good:.2f}")
    print(f"decode: {frame_us(lambda: _decode(packets)):.1f} us")
    stock = [_stock_frame(frame, at) for at, frame in enumerate(frames_of(path, 48_000))]
    encoder48 = StockEncoder()
    encoded = [payload for frame in stock for payload in encoder48.encode(frame)[0]]
    print(f"aiortc's encoder: {frame_us(lambda: len([encoder48.encode(frame) for frame in stock])):.1f} us")
    decoder48 = StockDecoder()
    jitter = [JitterFrame(payload, at * 960) for at, payload in enumerate(encoded)]
    print(f"aiortc's decoder: {frame_us(lambda: len([decoder48.decode(frame) for frame in jitter])):.1f} us")


def _decode(packets: list[bytes]) -> int:
    decoder = OpusDecoder()
    return len([decoder.decode(packet) for packet in packets])


def _stock_frame(samples: Samples, number: int) -> AudioFrame:
    frame = AudioFrame.from_ndarray(samples[np.newaxis], format="s16", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = 48_000, number * 960, Fraction(1, 48_000)
    return frame


if __name__ == "__main__":
    main()
