"""Single digits as whole turns: how many are misheard, after a question of the agent's and without one?

python tests/bench/single_digits.py RECORDINGS SPEAKER...

RECORDINGS has those of the Free Spoken Digit Dataset (github.com/Jakobovski/free-spoken-digit-dataset, CC
BY-SA 4.0, 8 kHz): DIGIT_SPEAKER_NUMBER.wav, cut close. Five of each digit and speaker, with faint noise
around them, go through whole calls by the clock of their sound, answers after 20 ms.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from dictated_numbers import asking
from people.material import Clip, last_voiced_s
from people.offline import run_offline
from people.outcome import Outcome, figures

from audio.pcm import Samples
from voiceagent.config import default_config
from voiceagent.config.tables import load
from voiceagent.conversation.latency import percentile
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT, read_recordings

QUESTIONS = ("What would you like?", "For how many people?", "What is your room number?")
BEFORE_S, AFTER_S = 0.6, 3.0
NOISE = 8.0
EACH = 5
RECORDED = 50
ANSWER_S = 0.02


def main(folder: Path, speakers: Sequence[str]) -> None:
    """Print a line for each question."""
    config = load(default_config())
    configure_log(config.log.format, "error")
    clips = list(_clips(folder, speakers))
    for question in QUESTIONS:
        outcomes = run_offline(asking(config, question), clips, lambda _: None, ANSWER_S)
        print(f"{question} {_told(outcomes)}", flush=True)


def _clips(folder: Path, speakers: Sequence[str]) -> Iterator[Clip]:
    chance = np.random.default_rng(0)
    for speaker in speakers:
        for digit in range(10):
            for number in range(0, RECORDED, RECORDED // EACH):
                sound = read_recordings([folder / f"{digit}_{speaker}_{number}.wav"])[0].sound
                noises = (_noise(chance, seconds) for seconds in (BEFORE_S, AFTER_S))
                whole = np.concatenate([next(noises), sound, next(noises)])
                end_s = last_voiced_s(whole, FORMAT.rate_hz)
                yield Clip(f"{digit} {speaker} {number}", whole, str(digit), "digits", end_s, speaker)


def _noise(chance: np.random.Generator, seconds: float) -> Samples:
    return chance.normal(0.0, NOISE, round(seconds * FORMAT.rate_hz)).astype(np.int16)


def _told(outcomes: Sequence[Outcome]) -> str:
    found = figures(outcomes)
    misheard = [one for one in outcomes if one.word_errors and one.word_errors.errors]
    waits = [f"{percentile(found.waits_ms, rank):.0f}" for rank in (50, 90)]
    heard = "; ".join(f"{one.clip.text} as {' | '.join(one.texts or ('nothing',))}" for one in misheard)
    return f"{len(misheard)} of {found.clips} misheard, wait {', '.join(waits)} ms: {heard}"


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
