"""Conditions applied to recordings: telephones, rooms, noise, distance, tempo, pauses.

The end of the voice is labelled before; conditions that stretch time move the label.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from audio.surroundings import TELEPHONE_HZ, gain, over_telephone, samples_of, stretched, with_room
from people.material import Clip
from voiceagent.transports.local_call import FORMAT
from voiceagent.validation.errors import CommandFailed

Floats = NDArray[np.float64]

_SEED = 1
_REVERBERATION_S = 0.5
"""Reverberation time (60 dB decay) of a furnished living room."""
ACROSS_THE_ROOM_DB = -6.0
_DIRECT_TO_ROOM_DB = {"room": 3.0, "far": ACROSS_THE_ROOM_DB}
"""Direct-to-reverberant ratios at half a metre, and across the room."""
_FAR_GAIN = 0.25
_ROOM_BEGINS_S = 0.003
_PAUSE_S = 0.1
"""Minimum silence inside a recording that counts as a pause, and can be stretched."""
_PAUSE_BELOW_PEAK_DB = 30.0
LATER_S = 0.007
"""Shift of each repetition, never a multiple of a frame (20 ms) or a window (32 ms)."""
ALLOWED = "telephone, room, room=SECONDS (to 5), far, noise=DB, tempo=FACTOR (0.5 to 2), pause=SECONDS"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition. value: decibels of voice over noise, tempo factor, seconds by which to stretch the longest
    pause, or reverberation time; unused by others.
    """

    name: str
    value: float = _REVERBERATION_S


def add_conditions(parser: argparse.ArgumentParser) -> None:
    """Add the option of conditions of recordings."""
    parser.add_argument(
        "--conditions",
        default="",
        metavar="NAME,NAME",
        help="changes to the audio: telephone, room (0.5 s) or room=SECONDS, far, noise=DB, "
        "tempo=FACTOR, pause=SECONDS",
    )


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Parse conditions, separated by commas, in order of application. Raises CommandFailed."""
    return tuple(_parse(part.strip()) for part in text.split(",") if part.strip())


def under(clip: Clip, conditions: Sequence[Condition]) -> Clip:
    """Return the recording under all of these conditions; deterministic."""
    for condition in conditions:
        clip = _under(clip, condition)
    return clip


def said_again(clips: Sequence[Clip], times: int) -> list[Clip]:
    """Return each recording `times` times, each shifted by a further `LATER_S`.

    Close decisions depend on where frames and windows split the audio. Raises CommandFailed.
    """
    if times < 1:
        raise CommandFailed(f"--times is {times}; allowed: 1 or more")
    return [_later(clip, number * LATER_S) for clip in clips for number in range(times)]


def _later(clip: Clip, seconds: float) -> Clip:
    if not seconds:
        return clip
    silence = np.zeros(round(seconds * FORMAT.rate_hz), np.int16)
    return replace(
        clip,
        name=f"{clip.name} +{seconds * 1000:.0f} ms",
        sound=np.concatenate([silence, clip.sound]),
        voice_end_s=clip.voice_end_s + seconds,
    )


def _parse(text: str) -> Condition:
    name, _, value = text.partition("=")
    try:
        if name in ("telephone", "room", "far") and not value:
            return Condition(name)
        if name == "noise" or (name in ("pause", "room") and 0 < float(value) <= 5):
            return Condition(name, float(value))
        if name == "tempo" and 0.5 <= float(value) <= 2.0:
            return Condition(name, float(value))
    except ValueError:
        pass
    raise CommandFailed(f"--conditions has {text!r}; allowed: {ALLOWED}")


def _under(clip: Clip, condition: Condition) -> Clip:
    sound = clip.sound.astype(np.float64)
    if condition.name == "tempo":
        faster = stretched(sound, condition.value)
        end_s = clip.voice_end_s / condition.value
        return replace(clip, sound=samples_of(faster), voice_end_s=end_s)
    if condition.name == "pause":
        return _with_longer_pause(clip, condition.value)
    if condition.name == "telephone":
        return replace(clip, sound=over_telephone(sound, FORMAT.rate_hz, *TELEPHONE_HZ))
    if condition.name == "noise":
        return replace(clip, sound=samples_of(sound + _noise(sound, condition.value)))
    lower = _FAR_GAIN if condition.name == "far" else 1.0
    heard = in_a_room(sound, _DIRECT_TO_ROOM_DB[condition.name], ringing_s=condition.value)
    return replace(clip, sound=samples_of(lower * heard))


def _with_longer_pause(clip: Clip, seconds: float) -> Clip:
    """Stretch the longest pause between two words with its own background; unchanged without one."""
    window = FORMAT.rate_hz // 100
    voiced = clip.sound[: round(clip.voice_end_s * FORMAT.rate_hz)].astype(np.float64)
    energies = np.mean(voiced[: len(voiced) // window * window].reshape(-1, window) ** 2, axis=1)
    loud = np.flatnonzero(energies > energies.max(initial=0.0) * 10 ** (-_PAUSE_BELOW_PEAK_DB / 10))
    gaps = np.diff(loud)
    if not len(gaps) or gaps.max() * 0.01 < _PAUSE_S:
        return clip
    begin, end = (int(loud[gaps.argmax() + side]) for side in (0, 1))
    pause = clip.sound[(begin + 1) * window : end * window]
    more = np.resize(np.concatenate([pause, pause[::-1]]), round(seconds * FORMAT.rate_hz))
    middle = (begin + 1 + end) // 2 * window
    sound = np.concatenate([clip.sound[:middle], more, clip.sound[middle:]])
    return replace(clip, sound=sound, voice_end_s=clip.voice_end_s + seconds)


def in_a_room(
    sound: Floats,
    direct_to_room_db: float,
    rate_hz: int = FORMAT.rate_hz,
    ringing_s: float = _REVERBERATION_S,
) -> Floats:
    """Return the sound [n] with reverberation that falls by 60 dB in `ringing_s`, and its tail.

    Polack's model of a room (1988): decaying noise after the direct sound.
    """
    at_s = np.arange(round(ringing_s * rate_hz)) / rate_hz
    room = np.random.default_rng(_SEED).normal(0, 1, len(at_s)) * 10 ** (-3 * at_s / ringing_s)
    room[: round(_ROOM_BEGINS_S * rate_hz)] = 0
    return with_room(sound, room, direct_to_room_db)


def _noise(sound: Floats, voice_over_noise_db: float) -> Floats:
    """Return pink noise, as in rooms and streets, at this distance from the voice, whose level is the 90th
    percentile of its windows of 10 ms.
    """
    white = np.random.default_rng(_SEED).normal(0, 1, len(sound))
    spectrum = np.fft.rfft(white)
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum)))
    spectrum[0] = 0
    pink: Floats = np.fft.irfft(spectrum, len(sound))
    window = FORMAT.rate_hz // 100
    energies = np.mean(sound[: len(sound) // window * window].reshape(-1, window) ** 2, axis=1)
    voice = float(np.sqrt(np.percentile(energies, 90)))
    pink *= voice * gain(-voice_over_noise_db) / pink.std()
    return pink
