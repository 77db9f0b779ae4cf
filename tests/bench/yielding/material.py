"""Audio to play over the agent in `tests/bench/interruptions.py`: callers, their noises, and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from people.conditions import Condition, under
from people.material import Clip, first_voiced_s, place_of
from yielding.noises import MADE, others

from audio.pcm import Samples
from voiceagent.bench.material import Material
from voiceagent.bench.speech import (
    BACKCHANNELS,
    find_recordings,
    running_synthesizer,
    speak_questions,
    trimmed,
)
from voiceagent.config.tables import Config
from voiceagent.transports.local_call import FORMAT, Recording, read_recordings, speak

VARIES_DB = 6.0
"""Maximum difference in level between a caller's interruption and the turn before."""


@dataclass(frozen=True, slots=True)
class Over:
    """An interruption: `sound` [n] at 24 kHz, which begins with voice. before: the caller's turn
    before it.
    """

    name: str
    sound: Samples
    before: Samples


@dataclass(frozen=True, slots=True)
class Caller:
    """A person's recording at 24 kHz."""

    name: str
    speaker: str
    sound: Samples


async def read_callers(
    config: Config, material: Material, recordings: Sequence[Path], conditions: Sequence[Condition]
) -> tuple[list[Caller], list[Recording]]:
    """Return callers under these conditions, and spoken backchannels.

    config: its synthesizer speaks the backchannels and, without recordings, the questions. Raises
    CommandFailed, ConfigError, SynthesizerError.
    """
    paths = find_recordings(recordings)
    speakers = [place_of(path.read_bytes()).speaker for path in paths]
    said = read_recordings(paths)
    async with running_synthesizer(config) as synthesizer:
        if not said:
            said = await speak_questions(material, synthesizer)
            speakers = ["the synthesizer"] * len(said)
        hums = [Recording(text, await speak(synthesizer, text)) for text in BACKCHANNELS]
    callers = [
        Caller(one.name, speaker or one.name, _heard(one, conditions))
        for one, speaker in zip(said, speakers, strict=True)
    ]
    return callers, hums


def _heard(one: Recording, conditions: Sequence[Condition]) -> Samples:
    """Return the voiced part of the recording, as the telephone captures it."""
    begin_s = first_voiced_s(one.sound, FORMAT.rate_hz)
    spoken = trimmed(one.sound[round(begin_s * FORMAT.rate_hz) :], FORMAT.rate_hz)
    clip = Clip(one.name, spoken, None, "reading", len(spoken) / FORMAT.rate_hz)
    return under(clip, conditions).sound


def interruptions(callers: Sequence[Caller], number: int, random: Random) -> list[Over]:
    """Create `number` interruptions by callers, louder or quieter than before."""
    return [_interruption(caller, callers, random) for caller in random.choices(callers, k=number)]


def _interruption(caller: Caller, callers: Sequence[Caller], random: Random) -> Over:
    level_db = random.uniform(-VARIES_DB, VARIES_DB)
    peak_db = _peak(caller.sound)
    before = _at(_another(caller, callers, random).sound, peak_db)  # equal levels, whatever the recording
    return Over(f"{caller.name} {level_db:+.0f} dB", _at(caller.sound, peak_db + level_db), before)


def noises(callers: Sequence[Caller], hums: Sequence[Recording], number: int, random: Random) -> list[Over]:
    """Create `number` noises: every other one is a backchannel, the others are of each kind in turn."""
    return [_noise(index, callers, hums, random) for index in range(number)]


def _noise(index: int, callers: Sequence[Caller], hums: Sequence[Recording], random: Random) -> Over:
    caller, rate_hz = random.choice(callers), FORMAT.rate_hz
    if index % 2:
        hum = hums[index // 2 % len(hums)]
        sound = _at(trimmed(hum.sound, rate_hz), _peak(caller.sound))
        return Over(hum.name, sound, caller.sound)
    kind = (*MADE, "others")[index // 2 % (len(MADE) + 1)]
    if kind in MADE:
        sound = MADE[kind](random, rate_hz)
    else:
        voices = [one.sound for one in callers if one.speaker != caller.speaker] or [caller.sound]
        sound = others(random, rate_hz, voices, int(np.abs(caller.sound.astype(np.int32)).max()))
    return Over(f"{kind} of {len(sound) / rate_hz * 1000:.0f} ms, {caller.name}", sound, caller.sound)


def _another(caller: Caller, callers: Sequence[Caller], random: Random) -> Caller:
    """Return another recording of the same speaker, or the same one if there is no other."""
    others_of_his = [one for one in callers if one.speaker == caller.speaker and one is not caller]
    return random.choice(others_of_his) if others_of_his else caller


def _peak(sound: Samples) -> float:
    """Return the peak level in dBFS."""
    return float(20 * np.log10(max(1, int(np.abs(sound.astype(np.int32)).max())) / 32_768))


def _at(sound: Samples, peak_db: float) -> Samples:
    """Return the sound scaled to a peak level, at most full scale."""
    scaled: Samples = np.rint(sound * 10 ** ((min(0.0, peak_db) - _peak(sound)) / 20)).clip(-32_768, 32_767)
    return scaled.astype(np.int16)
