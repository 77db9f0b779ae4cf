"""Measure who answered an outbound call by sound: synthetic voices over a telephone, the demo's recognizer.

python tests/bench/who_answered.py ENGINE=VOICE... [--greetings=FILE] [--every=2] [--pause=0.7] [--room=0.4]

ENGINE=VOICE is as for `captured_values.py`. The greetings are `tests/support/greetings_later.tsv` or another
file of its form, one in `--every` of them, each in the next of the voices, at 8 kHz in mu-law. The calls run
in virtual time, in which each decoding takes `DECODING_S`, so that other programs change no result. Printed
are the greetings that were taken for another kind, how many were right, and how long after the greeting's
end a person was known. With `--pause`, in seconds, only machines with two sentences or more are heard, and
pause for so long between these: synthetic voices pause more briefly than recordings may. With `--room`, in
seconds of reverberation, every second greeting is said in a room; its end is the voice's.
"""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import aclosing
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles

import numpy as np
from captured_values import build
from people.conditions import in_a_room

from audio.pcm import AudioFormat, Samples, decode, encode
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.resample import resample
from audio.surroundings import samples_of
from audio.synthesizers import Synthesizer, speak_with
from audio.synthesizers.voices import USUAL_SETTINGS
from llmcore.policies.load_shedding import LoadShedder
from voiceagent.config import default_config
from voiceagent.config.tables import load
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.engines.engines import Engines
from voiceagent.engines.silent import SilentSynthesizer
from voiceagent.evals.virtual_time import run_virtually
from voiceagent.server.startup import compose
from voiceagent.session.agent import GREETING_SILENCE_S
from voiceagent.session.services import Services
from voiceagent.session.session import Session
from voiceagent.telemetry.metrics import Metrics
from voiceagent.transports.telephony.call_start import phone_settings
from voiceagent.transports.telephony.outbound.greeting_listener import GreetingListener
from voiceagent.transports.telephony.phone_client import PhoneClient
from voiceagent.transports.telephony.stream.serializer import Started
from voiceagent.transports.telephony.twilio import TwilioSerializer

GREETINGS = Path(__file__).parents[1] / "support/greetings_later.tsv"
RATE_HZ = 8_000
FRAME = 160
BEFORE_S, AFTER_S = 0.5, 4.0
MAX_WAIT_S = 1.2
DECODING_S = 0.1
ROOM_DB = 3.0
"""Level of the voice over its reverberation: a hand's breadth from a speakerphone."""
SENTENCE = re.compile(r"(?<=\w[.?!]) ")
QUIET = 300
"""Loudness under which a sample is silence: the greeting ends with the last louder one."""


class NoLlm:
    """Is never asked: the greeting's turns are claimed."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...


async def over_the_telephone(voice: Synthesizer, words: str) -> Samples:
    """Return a greeting as a telephone transmits it, without the silence at its ends."""
    async with aclosing(speak_with(voice, words, USUAL_SETTINGS)) as speeches:
        spoken = np.concatenate([speech.samples async for speech in speeches])
    samples = resample(spoken, voice.rate_hz, RATE_HZ)
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > QUIET)
    return decode(encode(samples[loud[0] : loud[-1] + 1], AudioFormat.PCMU), AudioFormat.PCMU)


async def said(voice: Synthesizer, words: str, pause_s: float) -> Samples:
    """Return a greeting with this pause between its sentences; 0 leaves the pauses to the voice."""
    if not pause_s:
        return await over_the_telephone(voice, words)
    spoken = [await over_the_telephone(voice, sentence) for sentence in SENTENCE.split(words)]
    pause = np.zeros(round(pause_s * RATE_HZ), np.int16)
    return np.concatenate([part for one in spoken for part in (one, pause)][:-1])


def rows_of(file: Path) -> list[list[str]]:
    """Return the kind, the length in seconds and the words of each greeting."""
    return [line.split("\t") for line in file.read_text().splitlines()[1:]]


def in_room(samples: Samples, reverberation_s: float) -> Samples:
    """Return a greeting as a room and the telephone transmit it, with the room's tail."""
    heard = in_a_room(samples.astype(np.float64), ROOM_DB, RATE_HZ, reverberation_s)
    return decode(encode(samples_of(heard), AudioFormat.PCMU), AudioFormat.PCMU)


async def decided(services: Services, samples: Samples, voice_s: float) -> tuple[str, float, str]:
    """Return the kind, the seconds from the voice's end until it was known, below 0 before it, and what was
    heard until then, each turn with the seconds from the voice's end.

    voice_s: length of the voice, without the room's tail.
    """
    loop = asyncio.get_running_loop()
    client = PhoneClient("call", TwilioSerializer())
    call = Session("call", services, services.settings, client)
    listener = GreetingListener("call")
    heard: list[str] = []

    def on_notification(notification: notify.Notification) -> None:
        listener.on_notification(notification)
        match notification:
            case notify.NotifyTranscript(_, text, True, _):
                heard.append(f"{text} ({loop.time() - begun_s - BEFORE_S - voice_s:+.2f} s)")

    client.on_other = on_notification
    started = Started("line", AudioFormat.PCMU, AudioFormat.PCMU)
    call.handle(ev.SettingsChanged(phone_settings(call.settings, started)))
    call.begin(greet=False)
    call.post(ev.TurnsClaimed(True, max_silence_s=GREETING_SILENCE_S))
    listener.start()
    whole = np.pad(samples, (round(BEFORE_S * RATE_HZ), round(AFTER_S * RATE_HZ)))
    begun_s = loop.time()
    kind = asyncio.create_task(listener.kind())
    for number, begin in enumerate(range(0, len(whole) - FRAME + 1, FRAME)):
        await asyncio.sleep(max(0.0, begun_s + number * FRAME / RATE_HZ - loop.time()))
        frame = whole[begin : begin + FRAME]
        call.hear(frame)
        listener.push_audio(frame, RATE_HZ)
        if kind.done():
            break
    known_s = loop.time() - begun_s - BEFORE_S - voice_s
    listener.close()
    await call.close("measured")
    return kind.result() or "none" if kind.done() else "none", known_s, " ".join(heard)


async def rendered(voices: list[str], rows: list[list[str]], pause_s: float) -> list[Samples]:
    """Return the greetings, each in the next of the voices."""
    synthesizers = [build(voice) for voice in voices]
    for synthesizer in synthesizers:
        await synthesizer.start()
    spoken = [
        await said(voice, words, pause_s)
        for (_, _, words), voice in zip(rows, cycle(synthesizers), strict=False)
    ]
    for synthesizer in synthesizers:
        await synthesizer.close()
    return spoken


async def measure(voices: list[str], rows: list[list[str]], spoken: list[Samples], room_s: float) -> None:
    """Print what was wrong, and the counts."""
    engines = Engines(MoonshineRecognizer(), NoLlm(), SilentSynthesizer())  # type: ignore[arg-type]
    await engines.recognizer.start()
    clock = asyncio.get_running_loop().time
    services = await compose(load(default_config()), engines, Metrics(), LoadShedder(), clock)
    right = person_or_machine = 0
    waits_s: list[float] = []
    rooms_s = cycle((0.0, room_s))
    heard_in = zip(rows, spoken, cycle(voices), rooms_s, strict=False)
    for (kind, _, words), samples, name, reverberation_s in heard_in:
        heard = in_room(samples, reverberation_s) if reverberation_s else samples
        found, known_s, words_heard = await decided(services, heard, len(samples) / RATE_HZ)
        right += found == kind
        person_or_machine += (found == "person") == (kind == "person")
        if found != kind:
            print(f"{kind} -> {found} {known_s:+.2f} s, {name}: {words} - heard: {words_heard}")
        if kind == found == "person":
            waits_s.append(known_s)
            if known_s > MAX_WAIT_S:
                print(f"known after {known_s:.2f} s, {name.partition('=')[0]}: {words}")
    print(f"{len(rows)} greetings: kind {right}, person or machine {person_or_machine}")
    if waits_s:
        print(
            f"{len(waits_s)} persons known after {median(waits_s):.2f} s (median), "
            f"{quantiles(waits_s, n=10)[-1]:.2f} s (90 %), {max(waits_s):.2f} s (most); "
            f"{sum(wait_s > MAX_WAIT_S for wait_s in waits_s)} over {MAX_WAIT_S} s"
        )
    await engines.recognizer.close()


if __name__ == "__main__":
    given = [one for one in sys.argv[1:] if not one.startswith("--")]
    options = dict(one.split("=") for one in sys.argv[1:] if one.startswith("--"))
    chosen = rows_of(Path(options.get("--greetings", GREETINGS)))[:: int(options.get("--every", 1))]
    pause_s, room_s = (float(options.get(name, 0)) for name in ("--pause", "--room"))
    if pause_s:
        chosen = [row for row in chosen if row[0] != "person" and SENTENCE.search(row[2])]
    run_virtually(measure(given, chosen, asyncio.run(rendered(given, chosen, pause_s)), room_s), DECODING_S)
