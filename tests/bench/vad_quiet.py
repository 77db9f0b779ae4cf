"""Measure how late a voice is detected by a model that pauses in silence, and by one that does not.

python tests/bench/vad_quiet.py FOLDER     a folder of recorded speech, WAV
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from unittest.mock import patch

import numpy as np

import audio.detection.front_end
from audio.detection.front_end import FrontEnd
from audio.detection.front_end_stream import Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad
from audio.endpoint import Endpointer
from audio.loudness import MIN_ENERGY
from audio.pcm import Samples
from audio.resample import resample
from audio.speech_events import SpeechStarted
from audio.wav import read_wav
from voiceagent.conversation.config import TurnConfig

SILENCES_S = (2.0, 3.0, 4.0, 6.0)
VOICE_S = 4.0


async def main(voices: list[Samples]) -> None:
    """Print the mean detection time by level of the voice and of the noise on the line."""
    model = SileroVad()
    model.load()
    for level_db in (-26, -40):
        for noise in (0, 2, 8):
            line = np.random.default_rng(1)
            sounds = [_called(v, s, level_db, noise, line) for v in voices for s in SILENCES_S]
            always_s, gated_s = await _told(model, sounds, False), await _told(model, sounds, True)
            later_ms = (gated_s - always_s) * 1000
            case = f"voice {level_db} dB, noise of {noise}/32768, {len(sounds)} starts"
            print(f"{case}: {later_ms.mean():+.1f} ms, from {later_ms.min():+.0f} to {later_ms.max():+.0f}")


def _voice(path: Path) -> Samples:
    sound, rate_hz = read_wav(path)
    return resample(sound, rate_hz, SAMPLE_RATE_HZ)[: round(VOICE_S * SAMPLE_RATE_HZ)]


def _called(
    voice: Samples, silence_s: float, level_db: float, noise: float, line: np.random.Generator
) -> Samples:
    """A voice of this level, RMS below full scale, behind a silence, on a line with noise."""
    loud = voice / np.sqrt(np.mean(voice.astype(float) ** 2)) * 32_768 * 10 ** (level_db / 20)
    sound = np.concatenate((np.zeros(round(silence_s * SAMPLE_RATE_HZ)), loud))
    called: Samples = (sound + line.normal(0, 1, len(sound)) * noise).clip(-32_768, 32_767).astype(np.int16)
    return called


async def _told(model: SileroVad, sounds: list[Samples], gated: bool) -> np.ndarray:
    """Return when the start in each of the sounds was detected, in seconds of its sound."""
    with patch.object(audio.detection.front_end, "MIN_ENERGY", MIN_ENERGY if gated else 0.0):
        return np.array([await _first_start_s(model, sound) for sound in sounds])


async def _first_start_s(model: SileroVad, sound: Samples) -> float:
    turn = TurnConfig()
    endpointer = Endpointer(turn.to_endpointing(), turn.threshold, turn.silence_s)
    told = asyncio.get_running_loop().create_future()

    def take(window: Window) -> None:
        events = endpointer.push(window.probability or 0.0, WINDOW_SAMPLES / SAMPLE_RATE_HZ)
        if any(isinstance(event, SpeechStarted) for event in events) and not told.done():
            told.set_result(endpointer.now_s)

    stream = FrontEnd(model).open(SAMPLE_RATE_HZ, take)
    stream.push(sound)
    told_s: float = await told
    stream.close()
    return told_s


if __name__ == "__main__":
    asyncio.run(main([_voice(path) for path in sorted(Path(sys.argv[1]).glob("*.wav"))]))
