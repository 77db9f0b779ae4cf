"""Backchannels of the agent on recorded talk: their number, and those that fall over a word.

python tests/bench/backchannels.py FOLDER --config configs/demo.toml

FOLDER has recordings with a manifest. They are played to whole sessions in virtual time. A backchannel falls
over a word if the caller's voice resumes while it is played; it then stops, and the table says how much of it
was still played. "uncut" is what would have fallen over a word if it were played to its end. The caller's
voice is that of the recording before --conditions. With --echo the caller has a loudspeaker, and the agent's
voice is espeak-ng's, not a tone, which no canceller learns: the number of turns must be the same as without.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from people.conditions import parse_conditions, said_again, under
from people.material import Clip, read_clips
from people.offline import DECODING_S, LEAD_S, RESPONSE, quick_services
from yielding.loudspeaker import Loudspeaker
from yielding.speakerphone import RoomEcho
from yielding.spoken_answers import SpokenAnswers, speak_answers

from audio.detection.vad import SileroVad
from audio.detection.voiced_spans import voiced_spans
from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer
from voiceagent.config.tables import Config, load
from voiceagent.engines.build import build_engine
from voiceagent.engines.hosted import hosted
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.server.engine_building import with_vocabulary
from voiceagent.session.services import Services
from voiceagent.telemetry.log import configure_log
from voiceagent.telemetry.terminal_table import print_table
from voiceagent.transports.local_call import FORMAT, CallListener, LocalCall, PacedSound

FRAME_S = 0.02
AFTER_S = 3.0
"""Silence after each recording, in which its last turn ends."""
ECHO_DELAY_S = 0.06
SPOKEN_S = 0.4
"""Length of a spoken "mm-hmm". The tone that stands in for the voice has another."""


@dataclass(frozen=True, slots=True)
class Nod:
    """One backchannel, in seconds of the recording. over_s: of it over the caller's voice. uncut: true if it
    would be over the voice when played for `SPOKEN_S`.
    """

    begin_s: float
    over_s: float
    uncut: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """One call. turns: that the server found in it."""

    clip: Clip
    nods: list[Nod]
    turns: int


class Room(CallListener):
    """A caller's loudspeaker; its microphone has the echo `level_db` below the agent, in a furnished room."""

    def __init__(self, clock: Callable[[], float], level_db: float) -> None:
        self._clock = clock
        self._loudspeaker = Loudspeaker()
        random = np.random.default_rng(1)
        self._microphone = RoomEcho(self._loudspeaker, FORMAT.rate_hz, level_db, ECHO_DELAY_S, random)

    def on_audio(self, sound: Samples) -> None:
        """Play the agent's audio."""
        self._loudspeaker.play(sound, self._clock())

    def hear(self, voice: Samples, from_s: float) -> Samples:
        """Return the caller's voice [n], spoken from `from_s` on, with the echo."""
        return self._microphone.hear(voice, from_s)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", type=Path, default=Path("configs/demo.toml"))
    parser.add_argument("--kinds", default="", help="of recordings, with commas between them")
    parser.add_argument("--half", default="all", choices=("all", "tune", "measure"))
    parser.add_argument("--conditions", default="", help="as of `python tests/bench/bench_people.py`")
    parser.add_argument("--times", type=int, default=1, help="each recording so often, shifted by 7 ms each")
    parser.add_argument("--echo", type=float, help="decibels of the echo below the agent's voice")
    options = parser.parse_args()
    configure_log("console", "error")
    config = load(options.config)
    read = read_clips(
        (options.folder,), options.half, tuple(filter(None, options.kinds.split(","))), config.agent.language
    )
    clean = said_again(read, options.times)
    clips = [(one, under(one, parse_conditions(options.conditions))) for one in clean]
    recognizer = build_engine(
        "recognizer",
        with_vocabulary(config, config.recognizer),
        config.source,
        language=config.agent.language,
    )
    said = (config.agent.greeting, RESPONSE, *config.agent.backchannel_phrases)
    voice = None if options.echo is None else asyncio.run(_speak(said))
    found = run_virtually(_run(config, recognizer, clips, options.echo, voice), DECODING_S)
    kinds = sorted({one.clip.kind for one in found})
    rows = [_row(kind, [one for one in found if one.clip.kind == kind]) for kind in kinds]
    rows.append(_row("all", found))
    print_table(
        ("kind", "recordings", "minutes", "turns", "nods", "a minute", "over a word", "over, ms", "uncut"),
        rows,
    )
    for one in found:
        for nod in one.nods:
            print(f"{one.clip.name} {nod.begin_s:.2f} s, over the voice {nod.over_s * 1000:.0f} ms")


async def _speak(texts: Sequence[str]) -> SpokenAnswers:
    espeak = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
    await espeak.start()
    try:
        return await speak_answers(espeak, texts)
    finally:
        await espeak.close()


async def _run(
    config: Config,
    recognizer: object,
    clips: Sequence[tuple[Clip, Clip]],
    echo_db: float | None,
    voice: SpokenAnswers | None,
) -> list[Heard]:
    vad = SileroVad()
    vad.load()
    found = []
    async with quick_services(config, recognizer, voice=voice) as quick:  # type: ignore[arg-type]
        services = replace(quick, settings=replace(quick.settings, backchannels="all"))
        for clean, clip in clips:
            found.append(await _heard(services, clean, clip, vad, echo_db))
            await asyncio.sleep(0)
    return found


async def _heard(services: Services, clean: Clip, clip: Clip, vad: SileroVad, echo_db: float | None) -> Heard:
    """Call with a recording. clean: it without its conditions, which says where the voice is."""
    clock = services.measuring.clock
    room = None if echo_db is None else Room(clock, echo_db)
    async with LocalCall(services, listener=room or CallListener()) as call:

        def hear(frame: Samples) -> None:
            from_s = line.at_s - len(frame) / FORMAT.rate_hz
            call.session.hear(frame if room is None else room.hear(frame, from_s))

        line = PacedSound(hear, clock)
        begin_s = line.at_s + LEAD_S
        await line.send(np.concatenate([_silence(LEAD_S), clip.sound, _silence(AFTER_S)]))
    exchange = call.greeting
    spans = voiced_spans(resample(clean.sound, FORMAT.rate_hz, SAMPLE_RATE_HZ), vad)
    voiced = [(since / SAMPLE_RATE_HZ, until / SAMPLE_RATE_HZ) for since, until in spans]
    nods = _nods([at_s - begin_s for at_s in exchange.backchannels_s], voiced)
    return Heard(clip, nods, len(exchange.decided_s))


def _silence(seconds: float) -> Samples:
    return np.zeros(round(seconds * FORMAT.rate_hz), np.int16)


def _nods(frames_s: Sequence[float], voiced: Sequence[tuple[float, float]]) -> list[Nod]:
    """Return the backchannels of a call. frames_s: when each frame of one was sent."""
    nods: list[Nod] = []
    runs: list[list[float]] = []
    for at_s in frames_s:
        if not runs or at_s - runs[-1][-1] > 1.0:
            runs.append([])
        runs[-1].append(at_s)
    for run in runs:
        since = run[0]
        until = since + len(run) * FRAME_S
        over_s = sum(max(0.0, min(until, end_s) - max(since, from_s)) for from_s, end_s in voiced)
        uncut = any(from_s < since + SPOKEN_S and end_s > since for from_s, end_s in voiced)
        nods.append(Nod(since, over_s, uncut))
    return nods


def _row(kind: str, found: Sequence[Heard]) -> tuple[str, ...]:
    minutes = sum(len(one.clip.sound) for one in found) / FORMAT.rate_hz / 60
    nods = [nod for one in found for nod in one.nods]
    over = [nod for nod in nods if nod.over_s > 0]
    mean_ms = 1000 * float(np.mean([nod.over_s for nod in over])) if over else 0.0
    uncut = sum(nod.uncut for nod in nods)
    return (
        kind,
        str(len(found)),
        f"{minutes:.1f}",
        str(sum(one.turns for one in found)),
        str(len(nods)),
        f"{len(nods) / minutes:.1f}",
        str(len(over)),
        f"{mean_ms:.0f}",
        str(uncut),
    )


if __name__ == "__main__":
    main()
