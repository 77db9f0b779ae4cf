"""What the callers of a measurement say: recordings, and speech made for the purpose."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from random import Random

import numpy as np

from audio.pcm import Samples
from audio.resample import resample
from audio.synthesizers import Synthesizer
from voiceagent.bench.voiced import trimmed
from voiceagent.cli.talk import Question
from voiceagent.transports.local_call import FORMAT

QUESTIONS = (
    "What time is breakfast?",
    "Do you have a swimming pool?",
    "How much is a double room?",
    "Can I bring my dog?",
    "Where can I park my car?",
    "Is there wireless internet in the rooms?",
    "When do I have to check out?",
    "Could you call me a taxi?",
)
PAUSED_QUESTIONS = (
    ("I would like to book a", "double room for two nights."),
    ("Can I have breakfast in my", "room tomorrow morning?"),
    ("We are two adults and", "one child."),
    ("Do you have a swimming pool or", "a sauna?"),
    ("Good morning,", "what time is breakfast?"),
    ("If I arrive late,", "can I still check in?"),
    ("My flight leaves at six, so", "could you call me a taxi at four?"),
    ("I am coming by car,", "where can I park it?"),
)
"""Each with the place of a pause: after a phrase that is not finished, or at a comma."""
PAUSE_S = (0.3, 1.0)
"""Between these is the length of such a pause."""
BACKCHANNELS = ("uh huh", "mm hmm", "yeah", "okay", "right")
COUGH_S = (0.08, 0.3)
COUGH_PEAK = 12_000


def find_recordings(places: Sequence[Path]) -> list[Path]:
    """The files among `places`, and in place of each folder the WAV files in it, by name."""
    found: list[Path] = []
    for place in places:
        found += sorted(place.glob("*.wav")) if place.is_dir() else [place]
    return found


def with_pauses(parts: Iterable[Samples], pause_s: float, rate_hz: int) -> Samples:
    """The voice of each part [n], with `pause_s` of silence between one and the next."""
    pause = np.zeros(round(pause_s * rate_hz), np.int16)
    spoken: list[Samples] = []
    for part in parts:
        spoken += [pause, trimmed(part, rate_hz)] if spoken else [trimmed(part, rate_hz)]
    return np.concatenate(spoken)


def cough(random: Random, rate_hz: int) -> Samples:
    """A burst of noise [n] that begins at once and dies away, 80 to 300 ms long."""
    seconds = random.uniform(*COUGH_S)
    noise = np.random.default_rng(random.randrange(2**32)).normal(0, 1, round(seconds * rate_hz))
    fading = np.exp(-np.linspace(0, 4, len(noise))) * np.minimum(1, np.arange(len(noise)) / (0.005 * rate_hz))
    burst = noise * fading
    loud: Samples = np.rint(burst * COUGH_PEAK / np.abs(burst).max()).astype(np.int16)
    return loud


async def speak(synthesizer: Synthesizer, text: str) -> Samples:
    """What the synthesizer makes of a text [n], at the rate of a call. Raises SynthesizerError."""
    async with aclosing(synthesizer.speak(text)) as speeches:
        sound = np.concatenate([speech.samples async for speech in speeches])
    return resample(sound, synthesizer.rate_hz, FORMAT.rate_hz)


async def speak_questions(synthesizer: Synthesizer) -> list[Question]:
    """Questions without a pause inside. Raises SynthesizerError."""
    return [Question(text, await speak(synthesizer, text)) for text in QUESTIONS]


async def speak_paused_questions(synthesizer: Synthesizer, random: Random) -> list[Question]:
    """Questions with a pause inside. Raises SynthesizerError."""
    questions = []
    for parts in PAUSED_QUESTIONS:
        pause_s = random.uniform(*PAUSE_S)
        sound = with_pauses([await speak(synthesizer, part) for part in parts], pause_s, FORMAT.rate_hz)
        questions.append(Question(f" ({pause_s:.2f} s) ".join(parts), sound))
    return questions
