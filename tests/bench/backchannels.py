"""Backchannels of the agent on recorded talk: their number, and those that fall over a word.

python tests/bench/backchannels.py FOLDER --config configs/demo.toml

FOLDER has recordings with a manifest. They are played to whole sessions in virtual time. A backchannel falls
over a word if the caller's voice resumes while it is played; it then stops, and the table says how much of it
was still played. "uncut" is what would have fallen over a word if it were played to its end.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from audio.detection.vad import SileroVad
from audio.detection.voiced_spans import voiced_spans
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from voiceagent.bench.people.material import Clip, read_clips
from voiceagent.bench.people.offline import DECODING_S, LEAD_S, quick_services
from voiceagent.bench.people.virtual_time import run_virtually
from voiceagent.config.tables import Config, load
from voiceagent.engines.build import build_engine
from voiceagent.server.engine_building import with_vocabulary
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.transports.local_call import FORMAT, LocalCall

FRAME_S = 0.02
SPOKEN_S = 0.4
"""Length of a spoken "mm-hmm". The tone that stands in for the voice has another."""


@dataclass(frozen=True, slots=True)
class Heard:
    """One backchannel, in seconds of the recording. over_s: of it over the caller's voice. uncut: true if it
    would be over the voice when played for `SPOKEN_S`.
    """

    begin_s: float
    over_s: float
    uncut: bool


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, default=Path("configs/demo.toml"))
    parser.add_argument("--kinds", default="", help="of recordings, with commas between them")
    parser.add_argument("--half", default="all", choices=("all", "tune", "measure"))
    options = parser.parse_args()
    configure_log("console", "error")
    config = load(options.config)
    clips = read_clips(
        (options.folder,), options.half, tuple(filter(None, options.kinds.split(","))), config.agent.language
    )
    recognizer = build_engine(
        "recognizer",
        with_vocabulary(config, config.recognizer),
        config.source,
        language=config.agent.language,
    )
    found = run_virtually(_run(config, recognizer, clips), DECODING_S)
    rows = []
    for kind in sorted({clip.kind for clip in clips}):
        rows.append(_row(kind, [(clip, heard) for clip, heard in found if clip.kind == kind]))
    rows.append(_row("all", found))
    print_table(
        ("kind", "recordings", "minutes", "nods", "a minute", "over a word", "over, ms", "uncut"), rows
    )
    for clip, heard in found:
        for one in heard:
            print(f"{clip.name} {one.begin_s:.2f} s, over the voice {one.over_s * 1000:.0f} ms")


async def _run(config: Config, recognizer: object, clips: Sequence[Clip]) -> list[tuple[Clip, list[Heard]]]:
    vad = SileroVad()
    vad.load()
    found = []
    async with quick_services(config, recognizer) as quick:  # type: ignore[arg-type]
        services = replace(quick, settings=replace(quick.settings, backchannels="all"))
        for clip in clips:
            found.append((clip, await _heard(services, clip, vad)))
            await asyncio.sleep(0)
    return found


async def _heard(services: object, clip: Clip, vad: SileroVad) -> list[Heard]:
    silence = np.zeros(round(LEAD_S * FORMAT.rate_hz), np.int16)
    async with LocalCall(services) as call:  # type: ignore[arg-type]
        exchange = await call.say(np.concatenate([silence, clip.sound]))
    begin_s = exchange.spoken_from_s + LEAD_S
    spans = voiced_spans(resample(clip.sound, FORMAT.rate_hz, SAMPLE_RATE_HZ), vad)
    voiced = [(since / SAMPLE_RATE_HZ, until / SAMPLE_RATE_HZ) for since, until in spans]
    heard: list[Heard] = []
    runs: list[list[float]] = []
    for at_s in exchange.backchannels_s:
        if not runs or at_s - runs[-1][-1] > 1.0:
            runs.append([])
        runs[-1].append(at_s)
    for run in runs:
        since = run[0] - begin_s
        until = since + len(run) * FRAME_S
        over_s = sum(max(0.0, min(until, end_s) - max(since, from_s)) for from_s, end_s in voiced)
        uncut = any(from_s < since + SPOKEN_S and end_s > since for from_s, end_s in voiced)
        heard.append(Heard(since, over_s, uncut))
    return heard


def _row(kind: str, found: Sequence[tuple[Clip, list[Heard]]]) -> tuple[str, ...]:
    long = [clip for clip, _ in found]
    minutes = sum(len(clip.sound) for clip in long) / FORMAT.rate_hz / 60
    nods = [one for _, heard in found for one in heard]
    over = [one for one in nods if one.over_s > 0]
    mean_ms = 1000 * float(np.mean([one.over_s for one in over])) if over else 0.0
    uncut = sum(one.uncut for one in nods)
    return (
        kind,
        str(len(found)),
        f"{minutes:.1f}",
        str(len(nods)),
        f"{len(nods) / minutes:.1f}",
        str(len(over)),
        f"{mean_ms:.0f}",
        str(uncut),
    )


if __name__ == "__main__":
    main()
