"""Count dictated numbers that are cut, and measure the waits after them.

python tests/bench/dictated_numbers.py SPEECH PEOPLE

Digits of three people, cut out of recordings of the half to tune on in two folders, are joined into zip
codes, phone numbers and account numbers (of unknown length), with a pause of each given length between
groups. They go through whole calls by the clock of their sound. Printed are extra turns, waits from the last
voiced sample to the first sound, and digits that were misrecognized.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
from people.material import Clip, last_voiced_s
from people.offline import run_offline
from people.outcome import Outcome, figures

from audio.pcm import Samples
from voiceagent.bench.speech import trimmed
from voiceagent.config import default_config
from voiceagent.config.tables import Config, load
from voiceagent.conversation.latency import percentile
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT, read_recordings

PAUSES_S = ((0.2,), (0.4,), (0.8,), (1.2,), (1.5,), (0.4, 1.0), (1.0, 0.4))
WITHIN_GROUP_S = 0.06
SILENCE_AFTER_S = 1.0
PIECES: dict[str, dict[str, tuple[str, float, float]]] = {
    "numbers": {
        "33": ("numbers", 0.39, 1.19),
        "4": ("numbers", 1.19, 1.92),
        "6": ("numbers", 1.92, 2.38),
        "92": ("numbers", 2.38, 3.40),
    },
    "cards": {
        "4": ("cards_002", 0.0, 0.75),
        "8": ("cards_005", 0.19, 0.42),
        "7": ("cards_005", 2.22, 2.63),
    },
    "picovoice": {
        "1": ("pv_platforms", 2.05, 2.36),
        "3": ("pv_platforms", 2.53, 2.88),
        "6": ("pv_numbers", 1.05, 1.31),
        "12": ("pv_numbers", 5.36, 5.66),
    },
}
"""By speaker and figures, the recording and the seconds from which to which (forced alignment)."""
NUMBERS: dict[str, dict[str, Sequence[str]]] = {
    "What is your zip code?": {
        "numbers": ("33 4, 92", "92, 6 33"),
        "cards": ("8 4, 7 4 8", "7 8 4, 4 7"),
        "picovoice": ("1 3, 6 12", "12, 3 1 6"),
    },
    "What is your phone number?": {
        "numbers": ("33 4, 6 92, 33 4 6", "92 6, 33 4, 92 33"),
        "cards": ("8 4 7, 4 4 8, 7 8 4 7", "4 7 8, 8 7 4, 4 4 8 7"),
        "picovoice": ("1 3 6, 12 1, 3 6 1 3", "6 3 1, 3 12, 6 1 12"),
    },
    "What is your account number?": {
        "numbers": ("33 4, 6 92", "92 6, 33 4 6", "33 4, 6 92, 4 6", "4 6 4, 92 6, 33 4"),
        "cards": ("8 4 7, 4 4 8", "4 8 7, 4 8 4 4", "7 8 4 4, 8 7 4 8", "8 4 7, 4 7 8, 4 4 7"),
        "picovoice": ("1 3 6, 12 1", "6 3 1, 3 12 3", "12, 3 6, 6 1, 3 1", "3 12, 6 1 6, 12 3"),
    },
}
"""By the agent's question and speaker, groups with commas between them."""


def main() -> None:
    """Print a line for each question and pause."""
    config = load(default_config())
    configure_log(config.log.format, "error")
    folders = [Path(folder) for folder in sys.argv[1:]]
    pieces = {speaker: _cut(folders, of) for speaker, of in PIECES.items()}
    for question, by_speaker in NUMBERS.items():
        numbers = [(speaker, number) for speaker, several in by_speaker.items() for number in several]
        for pauses_s in PAUSES_S:
            clips = [_dictated(number, pieces[speaker], pauses_s, speaker) for speaker, number in numbers]
            outcomes = run_offline(asking(config, question), clips, lambda _: None)
            pauses = ", ".join(map(str, pauses_s))
            print(f"{question} pauses of {pauses} s: {_told(outcomes)}", flush=True)


def _cut(folders: Sequence[Path], pieces: dict[str, tuple[str, float, float]]) -> dict[str, Samples]:
    cut = {}
    for digits, (name, begin_s, end_s) in pieces.items():
        path = next(folder / f"{name}.wav" for folder in folders if (folder / f"{name}.wav").is_file())
        sound = read_recordings([path])[0].sound
        cut[digits] = trimmed(_between(sound, begin_s, end_s), FORMAT.rate_hz)
    return cut


def _between(sound: Samples, begin_s: float, end_s: float) -> Samples:
    return sound[round(begin_s * FORMAT.rate_hz) : round(end_s * FORMAT.rate_hz)]


def _dictated(number: str, pieces: dict[str, Samples], pauses_s: Sequence[float], speaker: str) -> Clip:
    sounds: list[Samples] = []
    for group, pause_s in zip(number.split(", "), cycle(pauses_s), strict=False):
        for digits in group.split():
            sounds += [pieces[digits], _silence(WITHIN_GROUP_S)]
        sounds[-1] = _silence(pause_s)
    sounds[-1] = _silence(SILENCE_AFTER_S)
    sound = np.concatenate(sounds)
    text = number.replace(",", "")
    return Clip(f"{speaker} {number}", sound, text, "digits", last_voiced_s(sound, FORMAT.rate_hz), speaker)


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * FORMAT.rate_hz), np.int16)


def asking(config: Config, question: str) -> Config:
    """The configuration with an agent that asks this first."""
    return config.model_copy(update={"agent": config.agent.model_copy(update={"greeting": question})})


def _told(outcomes: Sequence[Outcome]) -> str:
    found = figures(outcomes)
    wrong = [f"{one.clip.name}: {' | '.join(one.texts or ())}" for one in outcomes if one.turns > 1]
    waits = [f"{percentile(found.waits_ms, rank):.0f}" for rank in (50, 95)] if found.waits_ms else []
    return (
        f"{found.extra_turns} turns too many in {found.clips}, wait {', '.join(waits)} ms, figures wrong "
        f"{found.words.errors} of {found.words.words} {'; '.join(wrong)}"
    )


if __name__ == "__main__":
    main()
