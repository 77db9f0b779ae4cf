"""Measure how often the agent interrupts itself on lines with echo, and how soon it yields there.

In virtual time.

    PYTHONPATH=.:tests/support python tests/bench/echo_lines.py PEOPLE [--cancel auto,true,false]

PEOPLE: recordings (WAV) to interrupt with. The agent speaks by espeak-ng; each voice that is detected counts
as "stop".
"""

from __future__ import annotations

import argparse
import asyncio
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from call_services import call_services
from yielding.speakerphone import RoomEcho
from yielding.spoken_over import SpokenOver, speak_over
from yielding.stop_engines import PreparedVoice, SilentLlm, StopRecognizer

from audio.pcm import Samples
from audio.resample import resample
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.wav import read_wav
from voiceagent.bench.speech import trimmed
from voiceagent.conversation.agent_config import AgentConfig
from voiceagent.engines.hosted import hosted
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.session.config import EchoConfig
from voiceagent.telemetry.log import configure_log
from voiceagent.transports.local_call import FORMAT

SAYS = (
    "Welcome to the house by the lake. Breakfast is served from seven to ten in the garden room, and costs "
    "eighteen dollars. The pool is on the ground floor, and is open until ten in the evening."
)
LEVELS_DB, DELAYS_S, ROOMS = (6.0, 12.0, 20.0, 30.0), (0.06, 0.45), (None, 1)
MAX_S = 20.0
STUTTER_S = 0.1
Cancel = bool | Literal["auto"]


def _voice_of(path: Path) -> Samples:
    samples, rate_hz = read_wav(path)
    return trimmed(resample(samples, rate_hz, FORMAT.rate_hz), FORMAT.rate_hz)


async def _prepare(texts: tuple[str, ...]) -> PreparedVoice:
    espeak = hosted(EspeakSynthesizer, voice="en-us+f5", words_per_minute=165)
    await espeak.start()
    try:
        return PreparedVoice(
            espeak.rate_hz, {text: [one async for one in espeak.speak(text)] for text in texts}
        )
    finally:
        await espeak.close()


def _call(
    voice: PreparedVoice,
    cancel: Cancel,
    line: tuple[float, float, int | None],
    sound: Samples,
    after_s: float,
) -> SpokenOver:
    level_db, delay_s, room = line

    async def spoken_over() -> SpokenOver:
        clock = asyncio.get_running_loop().time
        services = await call_services(
            StopRecognizer(),
            SilentLlm(),
            voice,
            agent=AgentConfig(greeting=SAYS, filler=""),
            echo=EchoConfig(cancel=cancel),
            clock=clock,
        )
        random = None if room is None else np.random.default_rng(room)
        telephone = partial(RoomEcho, level_db=level_db, delay_s=delay_s, random=random)
        return await speak_over(services, sound, after_s, MAX_S, telephone=telephone)

    return run_virtually(spoken_over())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", type=Path, nargs="+", help="recordings to interrupt with")
    parser.add_argument("--cancel", default="false,true,auto", help="values of [echo] cancel")
    options = parser.parse_args()
    configure_log("console", "error")
    sentences = tuple(f"{part}." for part in SAYS.removesuffix(".").split(". "))
    voice = asyncio.run(_prepare((*sentences, AgentConfig().apology)))
    lines = [(level, delay, room) for level in LEVELS_DB for delay in DELAYS_S for room in ROOMS]
    people = [_voice_of(path) for path in options.people]
    for value in options.cancel.split(","):
        cancel: Cancel = "auto" if value == "auto" else value == "true"
        alone = [_call(voice, cancel, line, np.zeros(0, np.int16), 0.0) for line in lines]
        cut = sum(over.status != "completed" for over in alone)
        gaps = [over.loudspeaker.longest_gap_s(0.0) for over in alone if over.status == "completed"]
        print(f"cancel {value}: interrupts itself on {cut} of {len(lines)} lines;")
        print(f"  longest gap over {STUTTER_S} s on {sum(gap > STUTTER_S for gap in gaps)} of the others")
        for (level_db, delay_s, room), over in zip(lines, alone, strict=True):
            if over.status != "completed":
                print(f"    {level_db:.0f} dB, {delay_s} s, room {room}: {over.status}")
        if value == "false":
            continue
        waits: list[float] = []
        missed = 0
        for index, line in enumerate(lines):
            over = _call(voice, cancel, line, people[index % len(people)], 3.0 + 0.37 * (index % 7))
            silent_s = over.loudspeaker.silent_s(over.voice_s)
            if over.status != "cancelled" or silent_s is None or silent_s < over.voice_s:
                missed += 1
            else:
                waits.append((silent_s - over.voice_s) * 1000)
        p50, p95 = np.percentile(waits, (50, 95))
        print(f"  a caller interrupts: {missed} missed, silent after {p50:.0f}, {p95:.0f}")
        print(f"    longest: {[round(one) for one in sorted(waits)[-4:]]}")


if __name__ == "__main__":
    main()
