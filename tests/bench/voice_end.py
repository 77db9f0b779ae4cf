"""When the end of a voice is told, by its loudness and by the voice model alone.

python tests/bench/voice_end.py [FOLDER]     a folder of recorded speech, WAV

Beside it Debian's flite and espeak-ng speak.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np
from fixed_engines import FixedRecognizer

import voiceagent.session.listening
from audio.detection.front_end import FrontEnd
from audio.loudness import LoudnessFall
from audio.pcm import Samples
from audio.resample import resample
from audio.speech_events import SpeechPaused, TurnEnded
from audio.wav import read_wav
from voiceagent.bench.voiced import trimmed, voice_end_s
from voiceagent.conversation.config import BudgetConfig, TurnConfig
from voiceagent.conversation.settings import CallSettings
from voiceagent.demo.evaluation.by_voice import VOICES, Voice
from voiceagent.demo.make_material import PAUSED_QUESTIONS, QUESTIONS
from voiceagent.session.call_monitor import CallMonitor
from voiceagent.session.config import DeadlinesConfig, EchoConfig
from voiceagent.session.listening import Listener
from voiceagent.session.services import Hearing, Measuring
from voiceagent.telemetry.metrics import Metrics

RATE_HZ = 24_000
FRAME = RATE_HZ // 50
NOISES_DB = (None, 25, 15)
SENTENCES = (*QUESTIONS, *(part for parts in PAUSED_QUESTIONS for part in parts))


class ModelAlone(LoudnessFall):
    """As if loudness told nothing."""

    def push(self, energies: object, voiced: bool) -> float:
        """No silence."""
        return 0.0


def noisy(voice: Samples, below_db: float | None) -> Samples:
    """A second of silence, the voice and another second, in pink noise so far below the voice's RMS."""
    whole = np.pad(voice, RATE_HZ).astype(float)
    if below_db is not None:
        spectrum = np.fft.rfft(np.random.default_rng(1).normal(size=len(whole)))
        pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(len(spectrum)), 1)), len(whole))
        level = np.sqrt(np.mean(voice.astype(float) ** 2)) * 10 ** (-below_db / 20)
        whole += pink / pink.std() * level
    return whole.clip(-32_768, 32_767).astype(np.int16)


async def told_s(sound: Samples) -> tuple[list[float], list[float]]:
    """When the pauses in a sound and the ends of its turns were told, seconds of its sound."""
    front_end, pauses, ends = FrontEnd(tick_s=0.0), list[float](), list[float]()
    front_end.start()

    def post(event: object) -> None:
        if isinstance(event, SpeechPaused):
            pauses.append(listener.received_s)
        elif isinstance(event, TurnEnded):
            ends.append(listener.received_s)

    turn = TurnConfig(detection="server_vad", silence_s=0.2)
    settings = CallSettings(instructions="", temperature=0.0, turn_detection=turn.to_detection())
    hearing = Hearing(
        front_end, FixedRecognizer(), None, turn.to_endpointing(), EchoConfig(), input_buffer_s=60.0
    )
    measuring = Measuring(Metrics(), BudgetConfig().to_budget(), time.monotonic)
    monitor = CallMonitor(
        "measured", measuring, DeadlinesConfig(), lambda awaited, reason: None, lambda: None
    )
    listener = Listener(hearing, time.monotonic, settings, post, monitor)
    for begin in range(0, len(sound), FRAME):
        listener.hear(sound[begin : begin + FRAME])
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await listener.close()
    return pauses, ends


async def measure(name: str, voices: list[Samples]) -> None:
    """Print percentiles, in milliseconds from the end of the voice by its energy."""
    for noise_db in NOISES_DB:
        for by in (ModelAlone, LoudnessFall):
            told = []
            with patch.object(voiceagent.session.listening, "LoudnessFall", by):
                for voice in voices:
                    pauses, ends = await told_s(noisy(voice, noise_db))
                    if ends:
                        end_s = 1 + voice_end_s(voice, RATE_HZ)
                        told.append((pauses[-1] - end_s, ends[-1] - end_s, len(pauses)))
            paused, ended, count = np.array(told).T
            noise = "no noise" if noise_db is None else f"noise at {noise_db} dB"
            figures = f"pause {_percentiles(paused)}   end {_percentiles(ended)}   {count.mean():.1f} pauses"
            print(f"{name:24} {noise:14} {by.__name__:13} {figures}")


def _percentiles(seconds: np.ndarray) -> str:
    return " ".join(f"{ms:4.0f}" for ms in np.percentile(seconds * 1000, (10, 50, 90)))


def spoken(voice: Voice, texts: Iterable[str], rate_hz: int) -> list[Samples]:
    """The texts in a voice, without the silence around them."""
    sounds = []
    with tempfile.TemporaryDirectory() as folder:
        for text in texts:
            path = Path(folder) / "voice.wav"
            voice.speak(text, path)
            sounds.append(recorded(path, rate_hz))
    return sounds


def recorded(path: Path, rate_hz: int) -> Samples:
    """A recording without the silence around it."""
    sound, recorded_hz = read_wav(path)
    return trimmed(resample(sound, recorded_hz, rate_hz), rate_hz)


async def main(recordings: list[tuple[str, list[Samples]]]) -> None:
    """Print it all, also of these recordings, each a name and its voices."""
    for voice in VOICES:
        await measure(voice.name, spoken(voice, SENTENCES, RATE_HZ))
    for name, voices in recordings:
        await measure(name, voices)


if __name__ == "__main__":
    people = [
        (folder, [recorded(path, RATE_HZ) for path in sorted(Path(folder).glob("*.wav"))])
        for folder in sys.argv[1:]
    ]
    asyncio.run(main(people))
