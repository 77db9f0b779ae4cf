"""E-mail addresses, names and telephone numbers, captured from synthetic voices.

python tests/bench/captured_values.py ENGINE=VOICE... [--speed=0.9] [--values=FILE] [--show]

ENGINE is espeak, piper-english (a file) or kokoro. FILE is a JSON list of kinds ("e-mail", "name", "number")
and values, in place of the bench's own. Every second name is said before it is spelled.

Each value is said by one of the voices, at the speed at which people dictate, understood by the demo's
recognizer as it is in calls (decoded whole, without turn detection) and given to the dialogue of its
task. The caller confirms what is right; otherwise corrects one letter by an example, the domain or the
ending, or says no and spells with the ICAO alphabet. Asked for the domain alone, the caller says it, which
counts as no correction. Printed are the values of each engine that are right
at once, and after at most one correction.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime
from itertools import cycle, product
from pathlib import Path

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.resample import resample
from audio.synthesizers import Synthesizer, speak_with
from audio.synthesizers.voices import VoiceSettings
from voiceagent.agents.capture import Circumstances, Email, Name, PhoneNumber, Task
from voiceagent.agents.capture.dialogue import Ask, Captured, Dialogue
from voiceagent.agents.capture.languages import capture_language
from voiceagent.config import default_config
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))
PAUSE_S = 0.2
KOKORO = "weights:kokoro-82m/kokoro-v1.0.int8.onnx"
LOCALS = [
    "john.smith", "mary_jones", "bob42", "anna.meier", "susan", "t.baker", "helpdesk", "peter99",
    "linda.k", "info", "robert.brown", "sales7", "emma", "kate.wilson", "paul_green", "daniel",
    "maria.lopez", "tom.hill", "jane33", "b.carter", "oliver", "lucy.reed", "mark.d", "frank",
    "grace.young", "harry_king", "ivan.petrov", "kevin8", "nora.quinn", "victor",
]  # fmt: skip
DOMAINS = ("gmail.com", "yahoo.com", "outlook.com", "hotmail.com", "example.org", "web.de")
NAMES = [
    "Smith", "Bowden", "Petty", "Vandercamp", "Siobhan", "Meyer", "Dupont", "Fitzgerald", "Nguyen",
    "Kowalski", "Zhang", "McPhee", "Quincy", "Abbott", "Rodriguez", "Tanaka", "Oconnor", "Haddad",
    "Lindqvist", "Fischer", "Moreau", "Castillo", "Whitaker", "Blythe", "Grady", "Hopkins", "Ellis",
    "Thornton", "Varga", "Xavier", "Yates", "Zimmer", "Keller", "Bishop", "Drummond",
]  # fmt: skip

INITIALS = ("aol", "gmx")

SPOKEN_SIGNS = {".": " dot ", "_": " underscore ", "-": " dash ", "'": " apostrophe ", " ": " space "}


def values() -> list[tuple[str, str]]:
    """Return 100 values, each with its kind."""
    chance = np.random.default_rng(7)
    numbers = ["".join(map(str, chance.integers(0, 10, 10))) for _ in range(35)]
    emails = [f"{local}@{domain}" for local, domain in zip(LOCALS, cycle(DOMAINS), strict=False)]
    return [
        *(("e-mail", email) for email in emails),
        *(("name", name) for name in NAMES),
        *(("number", number) for number in numbers),
    ]


def values_in(file: Path) -> list[tuple[str, str]]:
    """Return the values of a file, each with its kind."""
    return [(kind, value) for kind, value in json.loads(file.read_text())]


def first_words(kind: str, value: str, said_before: bool) -> str:
    """Return the caller's answer to the question. said_before: a name is said before it is spelled."""
    if kind == "e-mail":
        local, _, domain = value.partition("@")
        said = "".join(f" {one} " if one.isdigit() else SPOKEN_SIGNS.get(one, one) for one in local)
        return f"{said} at {spoken_domain(domain)}"
    if kind == "name":
        letters = ", ".join(SPOKEN_SIGNS.get(one, one).strip() for one in value.upper())
        return f"{value}. {letters}" if said_before else letters
    return in_groups(value)


def spoken_domain(domain: str) -> str:
    """Return a domain as people say it: initials and the ending of a country letter by letter."""
    name, _, ending = domain.rpartition(".")
    said = " ".join(name.upper()) if name in INITIALS else name.replace(".", " dot ")
    return f"{said} dot {' '.join(ending.upper()) if len(ending) == 2 else ending}"


def in_groups(number: str) -> str:
    """Return a number of ten digits in three groups."""
    return ", ".join(" ".join(group) for group in (number[:3], number[3:6], number[6:]))


def correction(kind: str, value: str, read: str) -> str:
    """Return the caller's words about a value that was read back wrong."""
    if kind == "e-mail":
        (local, _, domain), (read_local, _, read_domain) = value.partition("@"), read.partition("@")
        if local == read_local:
            return f"No, at {spoken_domain(domain)}"
        wrong = one_wrong_letter(local, read_local) if domain == read_domain else None
    else:
        wrong = one_wrong_letter(value.lower(), read.lower()) if kind == "name" else None
    return f"No, {wrong.upper()} as in {example(wrong)}" if wrong else "No."


def one_wrong_letter(right: str, read: str) -> str | None:
    """Return the letter that was misheard if it is the only one."""
    if len(right) != len(read):
        return None
    wrong = [one for one, other in zip(right, read, strict=True) if one != other]
    return wrong[0] if len(wrong) == 1 and wrong[0].isalpha() else None


def example(letter: str) -> str:
    """Return the letter's word in the ICAO alphabet."""
    return next(word for word, named in capture_language("en").alphabet.items() if named == letter)


def spelled(kind: str, value: str) -> str:
    """Return all of a value with the ICAO alphabet."""
    if kind == "number":
        return in_groups(value)
    local, _, domain = value.lower().partition("@")
    words = " ".join(example(one) if one.isalpha() else SPOKEN_SIGNS.get(one, one).strip() for one in local)
    return f"{words} at {spoken_domain(domain)}" if domain else words


class Caller:
    """Answers one dialogue by voice."""

    def __init__(
        self, recognizer: MoonshineRecognizer, voice: Synthesizer, speed: float, task: Task[str], show: bool
    ) -> None:
        self._recognizer, self._voice, self._speed = recognizer, voice, speed
        self._task, self._show = task, show

    async def capture(self, kind: str, value: str, said_before: bool) -> int | None:
        """Return the corrections that the value took, None if it was not captured. The case of letters does
        not count.
        """
        dialogue: Dialogue[str] = Dialogue(self._task, NOW)
        step: Ask | Captured[str] = dialogue.begin()
        words = first_words(kind, value, said_before)
        corrections = 0
        while isinstance(step, Ask) and corrections < 3:
            step = dialogue.on_words(await self._understood(words, step, kind))
            if dialogue.pauses:
                step = dialogue.on_silence()
            if isinstance(step, Captured):
                break
            read = dialogue.value
            if read is not None and read.lower() == value.lower():
                return corrections
            if step.text == capture_language("en").prompts.domain:
                words = f"at {spoken_domain(value.partition('@')[2])}"
                continue
            corrections += words != "No."
            words = spelled(kind, value) if read is None else correction(kind, value, read)
        return None

    async def spoken(self, words: str) -> Samples:
        """Return words as the voice says them, at the recognizer's rate."""
        async with aclosing(speak_with(self._voice, words, VoiceSettings(speed=self._speed))) as speeches:
            samples = np.concatenate([speech.samples async for speech in speeches])
        return resample(samples, self._voice.rate_hz, SAMPLE_RATE_HZ)

    async def _understood(self, words: str, asked: Ask, kind: str) -> str:
        sound = np.pad(await self.spoken(words), round(PAUSE_S * SAMPLE_RATE_HZ))
        number = kind == "number" and asked.dictated

        async def utterance() -> AsyncIterator[Samples | Flush]:
            yield sound
            yield Flush(number, PAUSE_S, asked.spelled)

        text = ""
        async with aclosing(self._recognizer.recognize(utterance())) as hypotheses:
            async for hypothesis in hypotheses:
                text = hypothesis.text
                if hypothesis.settled:
                    break
        if self._show:
            print(f"    {words!r} -> {text!r}")
        return text


async def main(voices: Sequence[str], speed: float, show: bool, asked: Sequence[tuple[str, str]]) -> None:
    """Print a line for each engine and kind. asked: the values, each with its kind."""
    recognizer = MoonshineRecognizer()
    await recognizer.start()
    synthesizers = [build(voice) for voice in voices]
    for synthesizer in synthesizers:
        await synthesizer.start()
    tasks: dict[str, Task[str]] = {
        "e-mail": Email(""),
        "name": Name(""),
        "number": PhoneNumber("", lengths=(10,)),
    }
    counts: Counter[tuple[str, str, int | None]] = Counter()
    engines = [voice.partition("=")[0] for voice in voices]
    voiced = zip(asked, cycle(synthesizers), cycle(engines), strict=False)
    for at, ((kind, value), synthesizer, engine) in enumerate(voiced):
        caller = Caller(recognizer, synthesizer, speed, tasks[kind], show)
        took = await caller.capture(kind, value, said_before=at // len(voices) % 2 == 1)
        counts[engine, kind, took] += 1
        if show:
            print(f"{kind} {value}: {'not captured' if took is None else f'after {took} corrections'}")
    for engine, kind in product(dict.fromkeys(engines), tasks):
        told(f"{engine}, {kind}", {took: counts[engine, kind, took] for took in (0, 1, 2, None)})
    whole: Counter[int | None] = Counter()
    for (_, _, took), count in counts.items():
        whole[took] += count
    told("all", whole)
    for synthesizer in synthesizers:
        await synthesizer.close()
    await recognizer.close()


def build(voice: str) -> Synthesizer:
    """Return the synthesizer of "espeak=VOICE", "piper-english=FILE" or "kokoro=VOICE"."""
    engine, _, name = voice.partition("=")
    model = {"model": KOKORO} if engine == "kokoro" else {}
    synthesizer: Synthesizer = build_engine(
        "synthesizer",
        EngineConfig.model_validate({"engine": engine, "voice": name, **model}),
        default_config(),
    )
    return synthesizer


def told(kind: str, counts: dict[int | None, int] | Counter[int | None]) -> None:
    """Print the counts of one kind."""
    at_once, once = counts.get(0, 0), counts.get(1, 0)
    print(f"{kind}: {sum(counts.values())}, right at once {at_once}, after one correction {at_once + once}")


if __name__ == "__main__":
    speeds = [float(one.partition("=")[2]) for one in sys.argv[1:] if one.startswith("--speed=")]
    chosen = [one for one in sys.argv[1:] if "=" in one and not one.startswith("--")]
    files = [Path(one.partition("=")[2]) for one in sys.argv[1:] if one.startswith("--values=")]
    drawn = values_in(files[0]) if files else values()
    asyncio.run(main(chosen, speeds[0] if speeds else 1.0, "--show" in sys.argv, drawn))
