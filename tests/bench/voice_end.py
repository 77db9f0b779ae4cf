"""Compare the detected ends of voices with those at the source.

python tests/bench/voice_end.py HALF FOLDER...      HALF: tune or measure

Recordings of people, with a manifest in each folder, go through voice activity and endpointing under each
condition. A silence is labelled by the energy of the recording as it was before room and noise: there 0.25 s
or more are 20 dB below the loudest second around them. A telephone's own band is let through first: an "s"
that it does not carry has no end there. Printed, in milliseconds: the error of the pauses' beginnings (p50,
p95; signed p5, p95), the delay from the label to the report of a pause, silences without a pause, and pauses
reported while the voice continued, which quiet word ends cause.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
from people.conditions import Condition, parse_conditions, under
from people.material import KINDS, Clip, Half, read_clips

from audio.detection.front_end_stream import Window
from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, SileroVad
from audio.loudness import energies
from audio.onnx.silero_graph import INPUT_SAMPLES
from audio.pcm import Samples
from audio.resample import resample
from audio.speech_events import SpeechPaused
from examples.voice_end.examples import LABEL_S, spoken
from voiceagent.conversation.config import TurnConfig
from voiceagent.session.turn_detection import WINDOW_S, TurnDetector
from voiceagent.transports.local_call import FORMAT

CONDITIONS = (
    *("", "telephone", "room=0.3", "room", "room=0.8", "far", "room,telephone"),
    *("room,noise=20", "noise=20", "noise=15", "noise=10"),
)
BEFORE_S, AFTER_S = 0.5, 1.5
SILENCE_S = 0.25
NEAR_S = (-0.3, 0.4)
"""A pause that begins so far from a silence's label is that silence's."""
STILL_SPOKEN = 2
"""Label windows with voice, after the first 20 ms of a pause and before it was told."""


@dataclass(slots=True)
class Found:
    """Findings in one condition, in seconds: errors of the ends, and delays of their reports."""

    off_s: list[float] = field(default_factory=list)
    told_s: list[float] = field(default_factory=list)
    missed: int = 0
    pauses: int = 0
    cut: int = 0


def windows_of(sound: Samples, vad: SileroVad) -> Iterator[Window]:
    """Yield the front end's windows of `sound` [n], 16 kHz."""
    whole = sound[: len(sound) // WINDOW_SAMPLES * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES)
    context = INPUT_SAMPLES - WINDOW_SAMPLES
    padded = np.pad(whole.reshape(-1), (context, 0)).astype(np.float32)[np.newaxis] / np.float32(32_768)
    state = vad.after_silence[np.newaxis]
    loudness = energies(whole.astype(np.float32), SAMPLE_RATE_HZ)
    for row, (samples, means) in enumerate(zip(whole, loudness, strict=True)):
        begin = row * WINDOW_SAMPLES
        judgements, state = vad.run(padded[:, begin : begin + INPUT_SAMPLES], state)
        yield Window(samples, means, *judgements[0].tolist())


def pauses_in(sound: Samples, vad: SileroVad) -> list[tuple[float, float]]:
    """Return the pauses in `sound` [n], 16 kHz: detected beginning and time of the report, in seconds."""
    turn = TurnConfig(detection="server_vad", silence_s=AFTER_S)
    detector = TurnDetector(turn.to_endpointing(), turn.to_detection())
    told: list[tuple[float, float]] = []
    for count, window in enumerate(windows_of(sound, vad), start=1):
        events = detector.push(window, count * WINDOW_S)
        told += [(one.at_s, count * WINDOW_S) for one in events if isinstance(one, SpeechPaused)]
    return told


def compare(found: Found, voice: np.ndarray, pauses: list[tuple[float, float]]) -> None:
    """Count the pauses of one recording."""
    loud = np.append(np.flatnonzero(voice), len(voice) + round(SILENCE_S / LABEL_S))
    for last, following in pairwise(loud):
        silent_s = (following - last) * LABEL_S
        if silent_s < SILENCE_S:
            continue
        end_s = (last + 1) * LABEL_S
        before_s, after_s = NEAR_S[0], min(NEAR_S[1], silent_s)
        near = [(at - end_s, told - end_s) for at, told in pauses if before_s <= at - end_s < after_s]
        if not near:
            found.missed += 1
            continue
        off_s, told_s = min(near, key=lambda one: abs(one[0]))
        found.off_s.append(off_s)
        found.told_s.append(told_s)
    for at_s, told_s in pauses:
        claimed = voice[round(at_s / LABEL_S) + 2 : round(told_s / LABEL_S)]
        found.pauses += 1
        found.cut += int(claimed.sum() >= STILL_SPOKEN)


def at_model_rate(clip: Clip, conditions: tuple[Condition, ...]) -> Samples:
    """The recording under these, with silence around it, 16 kHz."""
    before, after = (round(seconds * FORMAT.rate_hz) for seconds in (BEFORE_S, AFTER_S))
    padded = replace(clip, sound=np.pad(clip.sound, (before, after)))
    return resample(under(padded, conditions).sound, FORMAT.rate_hz, SAMPLE_RATE_HZ)


def main(half: Half, folders: list[Path]) -> None:
    """Print a line for each condition."""
    vad = SileroVad()
    vad.load()
    clips = read_clips(folders, half, [kind for kind in KINDS if kind != "noise"], "en")
    for text in CONDITIONS:
        conditions, found = parse_conditions(text), Found()
        line = tuple(one for one in conditions if one.name == "telephone")
        for clip in clips:
            voice = spoken(at_model_rate(clip, line).astype(np.float64))
            compare(found, voice, pauses_in(at_model_rate(clip, conditions), vad))
        off, told = np.array(found.off_s) * 1000, np.array(found.told_s) * 1000
        far_off = " ".join(f"{ms:4.0f}" for ms in np.percentile(np.abs(off), (50, 95)))
        either = " ".join(f"{ms:4.0f}" for ms in np.percentile(off, (5, 95)))
        later = " ".join(f"{ms:4.0f}" for ms in np.percentile(told, (50, 95)))
        print(
            f"{text or 'dry':16} {len(off):4} ends: off {far_off} (early, late {either}); "
            f"told after {later}; {found.missed} silences without a pause; "
            f"{found.cut} of {found.pauses} pauses in a voice"
        )


if __name__ == "__main__":
    main(cast("Half", sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])
