"""E-mail addresses, names and telephone numbers, captured from synthetic voices.

python tests/bench/captured_values.py espeak=VOICE... piper=FILE... [--show]

Each value is said by one of the voices, understood by the demo's recognizer as it is in calls (decoded whole,
without turn detection) and given to the dialogue of its task. The caller confirms what is right; otherwise
corrects one letter by an example, the domain or the ending, or says no and spells with the ICAO alphabet.
Printed are the values that are right at once, and after at most one correction.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from datetime import datetime
from itertools import cycle

import numpy as np

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.resample import resample
from audio.synthesizers import Synthesizer
from voiceagent.agents.capture import Circumstances, Email, Name, PhoneNumber, Task
from voiceagent.agents.capture.dialogue import Ask, Captured, Dialogue
from voiceagent.agents.capture.languages import capture_language
from voiceagent.config import default_config
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig
from voiceagent.transports.local_call import speak

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))
PAUSE_S = 0.2
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


def first_words(kind: str, value: str) -> str:
    """Return the caller's answer to the question."""
    if kind == "e-mail":
        signs = {".": " dot ", "_": " underscore ", "@": " at "}
        return "".join(f" {one} " if one.isdigit() else signs.get(one, one) for one in value)
    if kind == "name":
        return ", ".join(value.upper())
    return in_groups(value)


def in_groups(number: str) -> str:
    """Return a number of ten digits in three groups."""
    return ", ".join(" ".join(group) for group in (number[:3], number[3:6], number[6:]))


def correction(kind: str, value: str, read: str) -> str:
    """Return the caller's words about a value that was read back wrong."""
    if kind == "e-mail":
        (local, _, domain), (read_local, _, read_domain) = value.partition("@"), read.partition("@")
        if local == read_local:
            return f"No, at {domain.replace('.', ' dot ')}"
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
    signs = {".": "dot", "_": "underscore"}
    words = " ".join(example(one) if one.isalpha() else signs.get(one, one) for one in local)
    return f"{words} at {domain.replace('.', ' dot ')}" if domain else words


class Caller:
    """Answers one dialogue by voice."""

    def __init__(
        self, recognizer: MoonshineRecognizer, voice: Synthesizer, task: Task[str], show: bool
    ) -> None:
        self._recognizer, self._voice, self._task, self._show = recognizer, voice, task, show

    async def capture(self, kind: str, value: str) -> int | None:
        """Return the corrections that the value took, None if it was not captured."""
        dialogue: Dialogue[str] = Dialogue(self._task, NOW)
        step: Ask | Captured[str] = dialogue.begin()
        words = first_words(kind, value)
        corrections = 0
        while isinstance(step, Ask) and corrections < 3:
            step = dialogue.on_words(await self._understood(words, step, kind))
            if dialogue.pauses:
                step = dialogue.on_silence()
            if isinstance(step, Captured):
                break
            read = dialogue.value
            if read == value:
                return corrections
            corrections += words != "No."
            words = spelled(kind, value) if read is None else correction(kind, value, read)
        return None

    async def _understood(self, words: str, asked: Ask, kind: str) -> str:
        sound = resample(await speak(self._voice, words), 24_000, SAMPLE_RATE_HZ)
        sound = np.pad(sound, round(PAUSE_S * SAMPLE_RATE_HZ))
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


async def main(voices: Sequence[str], show: bool) -> None:
    """Print a line for each kind."""
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
    counts: Counter[tuple[str, int | None]] = Counter()
    for (kind, value), voice in zip(values(), cycle(synthesizers), strict=False):
        took = await Caller(recognizer, voice, tasks[kind], show).capture(kind, value)
        counts[kind, took] += 1
        if show:
            print(f"{kind} {value}: {'not captured' if took is None else f'after {took} corrections'}")
    for kind in tasks:
        told(kind, {took: count for (of, took), count in counts.items() if of == kind})
    whole: Counter[int | None] = Counter()
    for (_, took), count in counts.items():
        whole[took] += count
    told("all", whole)
    for synthesizer in synthesizers:
        await synthesizer.close()
    await recognizer.close()


def build(voice: str) -> Synthesizer:
    """Return the synthesizer of "espeak=VOICE" or "piper=FILE"."""
    engine, _, name = voice.partition("=")
    synthesizer: Synthesizer = build_engine(
        "synthesizer", EngineConfig.model_validate({"engine": engine, "voice": name}), default_config()
    )
    return synthesizer


def told(kind: str, counts: dict[int | None, int] | Counter[int | None]) -> None:
    """Print the counts of one kind."""
    at_once, once = counts.get(0, 0), counts.get(1, 0)
    print(f"{kind}: {sum(counts.values())}, right at once {at_once}, after one correction {at_once + once}")


if __name__ == "__main__":
    asyncio.run(main([one for one in sys.argv[1:] if "=" in one], "--show" in sys.argv))
