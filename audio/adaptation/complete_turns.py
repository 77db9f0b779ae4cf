"""Training examples for the turn completeness network: ends and pauses in recordings.

No transcripts or labels are needed: Smart Turn v3 rates how complete each turn sounds, and the network learns
to predict that from the encoder's states.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from audio.detection.smart_turn import MAX_TURN_S, SmartTurn
from audio.detection.vad import SileroVad
from audio.detection.voiced_spans import Span, joined, voiced_spans
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.recognizers.completeness import STATES
from audio.recognizers.moonshine_decoder import EncoderDecoder
from audio.resample import resample
from audio.surroundings import gain, in_random_room, over_random_telephone, random_noise, samples_of
from audio.wav import read_wav

LEAD_S, TAIL_S = 0.3, 0.5
"""Silence added around a recording."""
NOTICE_DELAY_S = 0.03
"""Delay after the voice at which a pause is noticed, in addition to the detector's own."""
PAUSE_S = 0.1
"""Minimum length of a pause."""
SILENCE_AFTER_S = 0.2
"""Silence appended to audio before decoding, as the recognizer does."""
COMPLETE = 0.95
"""Target probability of a turn that is known to be complete."""
_TEACHER_SILENCE_S = 0.1
_STILL_SILENT = 0.4, 0.05, 0.15
"""Share of pauses noticed even later, and the minimum and maximum of that delay in seconds."""
_LOW_S = 0.08
"""A dip, where a word may end, is the quietest place within this distance."""
_STEP = SAMPLE_RATE_HZ // 100
_AS_RECORDED = 0.35
_ROOM, _TELEPHONE, _NOISE = 0.4, 0.45, 0.5
"""Shares of recordings that are put in a room, on a telephone line, and in noise."""

_BELOW_DB, _LOUDEST_DB = (8.0, 35.0), (2.0, 22.0)
"""Ranges: level of noise below the audio, and peak below full scale."""


@dataclass(frozen=True, slots=True)
class PauseExample:
    """Audio up to a pause, as a training example.

    states: the encoder's last ones, [at most STATES, hidden]. complete: the teacher's probability that the
    turn is complete.
    """

    states: NDArray[np.float16]
    complete: float


@dataclass(frozen=True, slots=True)
class Models:
    """Loaded models: voice activity detector, encoder, teacher."""

    vad: SileroVad
    encoder: EncoderDecoder
    teacher: SmartTurn


async def pause_examples(
    path: Path, models: Models, random: np.random.Generator, whole: bool = False
) -> AsyncIterator[PauseExample]:
    """Yield an example for each pause and end in a WAV file, and for one dip within speech, with
    augmentation.

    whole: the file's end is known to be the end of a turn, whatever the teacher says. Raises OSError,
    ValueError.
    """
    samples, rate_hz = read_wav(path)
    lead, tail = (np.zeros(round(each * SAMPLE_RATE_HZ), np.int16) for each in (LEAD_S, TAIL_S))
    sound = np.concatenate([lead, resample(samples, rate_hz, SAMPLE_RATE_HZ), tail])
    spans = joined(voiced_spans(sound, models.vad), round(PAUSE_S * SAMPLE_RATE_HZ))
    ends = [end + round(NOTICE_DELAY_S * SAMPLE_RATE_HZ) for _, end in spans]
    last = ends[-1] if whole and ends else None
    dips = _dips(sound, spans)
    ends += random.choice(dips, 1).tolist() if dips else []
    varied = _varied(sound, random)
    for end in ends:
        heard = await _example(varied[max(0, end - MAX_TURN_S * SAMPLE_RATE_HZ) : end], models, random)
        yield replace(heard, complete=COMPLETE) if end == last else heard


async def _example(sound: Samples, models: Models, random: np.random.Generator) -> PauseExample:
    part, least_s, most_s = _STILL_SILENT
    later_s = random.uniform(least_s, most_s) if random.random() < part else 0.0
    states, asked = (
        np.pad(sound, (0, round((later_s + after_s) * SAMPLE_RATE_HZ)))
        for after_s in (SILENCE_AFTER_S, _TEACHER_SILENCE_S)
    )
    newest = models.encoder.encode(states)[0, -STATES:]
    return PauseExample(newest.astype(np.float16), await models.teacher.complete(asked))


def _dips(sound: Samples, spans: list[Span]) -> list[int]:
    """Return the positions, in samples, of local minima of the loudness within speech."""
    steps = sound[: len(sound) // _STEP * _STEP].astype(np.float64).reshape(-1, _STEP)
    energy = np.convolve((steps**2).sum(axis=1), np.ones(3), "same")
    around = round(_LOW_S * 100)
    return [
        (at + 1) * _STEP
        for begin, end in spans
        for at in range(begin // _STEP + 25, end // _STEP - around)
        if energy[at] == energy[at - around : at + around + 1].min()
    ]


def _varied(sound: Samples, random: np.random.Generator) -> Samples:
    """Return a sound [n] in a room, on a telephone line, in noise, or unchanged, at a random level."""
    heard = sound.astype(np.float64)
    if random.random() >= _AS_RECORDED:
        if random.random() < _ROOM:
            heard = in_random_room(heard, random, SAMPLE_RATE_HZ)
        if random.random() < _TELEPHONE:
            heard = over_random_telephone(heard, random, SAMPLE_RATE_HZ).astype(np.float64)
        if random.random() < _NOISE:
            below = gain(-random.uniform(*_BELOW_DB)) * np.sqrt(np.mean(heard**2))
            heard = heard + below * random_noise(len(heard), random, SAMPLE_RATE_HZ)
    loudest = 32_767 * gain(-random.uniform(*_LOUDEST_DB))
    return samples_of(heard / (np.abs(heard).max() + 1) * loudest)
