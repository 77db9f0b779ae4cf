"""E-mail addresses, names, numbers and codes, captured from synthetic voices.

python tests/bench/captured_values.py ENGINE=VOICE... [--speed=0.9] [--values=FILE] [--show]

ENGINE is espeak, piper-english (a file) or kokoro. FILE is a JSON list of kinds, values and the caller's
first words; without it, the values are those of captured_values.json, which is for tuning.
captured_values_held_back, _later, _last, _once, _december (three lists of 40) and _explained.json (two) were
measured before they were looked at.

Each value is said by one of the voices, at the speed at which people dictate, understood by the demo's
recognizer as it is in calls (decoded whole, without turn detection) and given to the dialogue of its
task. The caller confirms what is right. Otherwise the caller corrects the part that is wrong, each time in
another way: a letter by an example, by its place or by the wrong one, a doubled letter, a word, the domain or
its ending; or says no and spells, half of the callers with the ICAO alphabet and the others with a word of
their own where letters sound alike. Asked for the domain alone or for the rest of a number, the caller says
it, which counts as no correction. Days, times and amounts are said again. Printed are the values of each
engine and kind that are right at once, and after at most one correction.
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
from typing import Any

import numpy as np
from captured_value_corrections import correction, in_groups, spelled, spelled_domain, spoken_domain

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ, Flush
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.resample import resample
from audio.synthesizers import Synthesizer, speak_with
from audio.synthesizers.voices import VoiceSettings
from voiceagent.agents.capture import (
    Amount,
    Card,
    Circumstances,
    Code,
    Date,
    Email,
    Name,
    PhoneNumber,
    Task,
    Time,
)
from voiceagent.agents.capture.dialogue import Ask, Captured, Dialogue
from voiceagent.agents.capture.languages import capture_language
from voiceagent.config import default_config
from voiceagent.engines.build import build_engine
from voiceagent.engines.config import EngineConfig

NOW = Circumstances("en", datetime(2026, 11, 28, 10, 0))
PAUSE_S = 0.2
KOKORO = "weights:kokoro-82m/kokoro-v1.0.int8.onnx"
TUNING = Path(__file__).with_name("captured_values.json")
SAID_AGAIN = ("date", "time", "amount")
KINDS = ("e-mail", "name", "phone number", "order number", "card", "code", *SAID_AGAIN)
MAX_STEPS = 12

Asked = tuple[str, str, str]
"""Kind, value and the caller's first words."""


def task_of(kind: str, value: str) -> Task[Any]:
    """Return the task that captures a value of this kind. Of an order number, the length is known."""
    tasks: dict[str, Task[Any]] = {
        "e-mail": Email(""),
        "name": Name(""),
        "phone number": PhoneNumber(""),
        "order number": PhoneNumber("", lengths=(len(value),)),
        "card": Card(""),
        "code": Code("", lengths=(len(value),)),
        "date": Date(""),
        "time": Time(""),
        "amount": Amount(""),
    }
    return tasks[kind]


def _says_again(words: str, question: str) -> bool:
    """Return True if a question about a part of an address asks for what the caller has just said."""
    prompts = capture_language("en").prompts
    if question == prompts.spell_local:
        return words != "No."
    return question == prompts.spell_domain and words.startswith("at ")


class Caller:
    """Answers one dialogue by voice. habit: number of this caller's way to correct and to spell."""

    def __init__(
        self, recognizer: MoonshineRecognizer, voice: Synthesizer, speed: float, habit: int, show: bool
    ) -> None:
        self._recognizer, self._voice, self._speed = recognizer, voice, speed
        self._habit, self._show = habit, show

    async def capture(self, asked: Asked) -> int | None:
        """Return the corrections that the value took, None if it was not captured. The case of letters does
        not count.
        """
        kind, value, words = asked
        dialogue: Dialogue[Any] = Dialogue(task_of(kind, value), NOW)
        step: Ask | Captured[Any] = dialogue.begin()
        corrections = 0
        for _ in range(MAX_STEPS):
            if isinstance(step, Captured) or corrections > 2:
                break
            step = dialogue.on_words(await self._understood(words, step, kind)) if words else step
            if dialogue.pauses or step == Ask("", dictated=True):
                step = dialogue.on_silence()
            if isinstance(step, Captured):
                break
            read = dialogue.value
            if read is not None and str(read).lower() == value.lower():
                return corrections
            if self._show and step.text:
                print(f"    agent: {step.text}")
            if (missing := self._missing(kind, value, step.text, self._habit)) is not None:
                corrections += _says_again(words, step.text)
                words = missing
                continue
            corrections += read is not None or words != "No."
            if kind in SAID_AGAIN:
                words = asked[2] if read is None else f"No, {asked[2]}"
                continue
            words = spelled(kind, value, self._habit)
            if read is not None:
                words = correction(kind, value, read, self._habit)
        return None

    @staticmethod
    def _missing(kind: str, value: str, question: str, habit: int) -> str | None:
        """Return the part of a value that the agent asks for, None if it asks for all of it."""
        prompts = capture_language("en").prompts
        local, _, domain = value.lower().partition("@")
        if question == prompts.domain:
            return f"at {spoken_domain(domain)}"
        if question == prompts.spell_domain:
            return f"at {spelled_domain(domain, habit)}."
        if question == prompts.spell_local:
            return spelled("name", local, habit)
        known, _, rest = prompts.more.partition("{}")
        if not question.endswith(rest) or not question.startswith(known):
            return None
        digits = question.removeprefix(known).removesuffix(rest).replace(" ", "")
        return in_groups(value.removeprefix(digits)) if value.startswith(digits) and digits else "No."

    async def spoken(self, words: str) -> Samples:
        """Return words as the voice says them, at the recognizer's rate."""
        async with aclosing(speak_with(self._voice, words, VoiceSettings(speed=self._speed))) as speeches:
            samples = np.concatenate([speech.samples async for speech in speeches])
        return resample(samples, self._voice.rate_hz, SAMPLE_RATE_HZ)

    async def _understood(self, words: str, asked: Ask, kind: str) -> str:
        sound = np.pad(await self.spoken(words), round(PAUSE_S * SAMPLE_RATE_HZ))
        number = asked.dictated and kind in ("phone number", "order number", "card")

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


async def main(voices: Sequence[str], speed: float, show: bool, values: Sequence[Asked]) -> None:
    """Print a line for each engine and kind."""
    recognizer = MoonshineRecognizer()
    await recognizer.start()
    synthesizers = [build(voice) for voice in voices]
    for synthesizer in synthesizers:
        await synthesizer.start()
    counts: Counter[tuple[str, str, int | None]] = Counter()
    engines = [voice.partition("=")[0] for voice in voices]
    voiced = zip(values, cycle(synthesizers), cycle(engines), strict=False)
    for at, (asked, synthesizer, engine) in enumerate(voiced):
        caller = Caller(recognizer, synthesizer, speed, at // len(voices), show)
        took = await caller.capture(asked)
        counts[engine, asked[0], took] += 1
        if show:
            print(f"{asked[:2]}: {'not captured' if took is None else f'after {took} corrections'}")
    for engine, kind in product(dict.fromkeys(engines), KINDS):
        told(f"{engine}, {kind}", {took: counts[engine, kind, took] for took in (0, 1, 2, None)})
    for kind in KINDS:
        told(kind, {took: sum(counts[one, kind, took] for one in set(engines)) for took in (0, 1, 2, None)})
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
    drawn = [tuple(row) for row in json.loads((files[0] if files else TUNING).read_text())]
    asyncio.run(main(chosen, speeds[0] if speeds else 1.0, "--show" in sys.argv, drawn))
