"""Measure Whisper base in German and Spanish, and in calls that switch between languages.

    .venv/bin/python tests/bench/languages.py [voices] [calls]

Each sentence is spoken by espeak-ng's voices, in Spanish by Kokoro's too, and recognized as a turn of a call
is: 100 ms at a time, as fast as it is decoded. Numbers are written as words, so that only words count.

`calls`: English, German and Spanish sentences in turn, two or more of a language in a row. Each turn is
recognized twice: as calls in several languages are, with the language of the turn before expected, and in its
own language. Recordings of people (English) are one call of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import wave
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from human_voice import wrong_words
from kokoro_voices import stored

from audio.pcm import Samples
from audio.recognizers import (
    NOTHING_EXPECTED,
    SAMPLE_RATE_HZ,
    ExpectedSpeech,
    Hypothesis,
    recognize_expecting,
)
from audio.recognizers.whisper import WhisperRecognizer
from audio.resample import resample
from audio.synthesizers import BlockingSynthesizer, Speech
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import VoiceSettings
from voiceagent.conversation.call_language import LanguageFollowing

TEXTS = {
    "en": (
        "Good afternoon, how can I help you?",
        "I would like to book a room for two nights.",
        "At what time is breakfast in the morning?",
        "Could you call a taxi to the station, please?",
        "My name is Taylor and I arrive on Friday.",
        "Is the parking in front of the house free?",
        "No, thank you, that is all.",
        "We have left the key in the room.",
    ),
    "de": (
        "Guten Tag, wie kann ich Ihnen helfen?",
        "Ich möchte gern ein Zimmer für zwei Nächte buchen.",
        "Um wie viel Uhr gibt es morgens Frühstück?",
        "Können Sie mir bitte ein Taxi zum Bahnhof rufen?",
        "Mein Name ist Schneider, und ich komme am Freitag an.",
        "Ist der Parkplatz vor dem Haus kostenlos?",
        "Nein, danke, das ist alles.",
        "Wir haben leider den Schlüssel im Zimmer vergessen.",
    ),
    "es": (
        "Buenos días, ¿en qué puedo ayudarle?",
        "Quisiera reservar una habitación para dos noches.",
        "¿A qué hora se sirve el desayuno por la mañana?",
        "¿Puede llamar un taxi para ir a la estación, por favor?",
        "Me llamo García y llego el viernes por la tarde.",
        "¿El aparcamiento delante del hotel es gratuito?",
        "No, gracias, eso es todo.",
        "Hemos olvidado la llave en la habitación.",
    ),
}
ESPEAK = {"de": ("de", "de+f2"), "es": ("es", "es+f2")}
KOKORO = ("ef_dora", "em_alex")
CALLS = (
    *(("en", 0), ("en", 1), ("de", 1), ("de", 2), ("es", 1), ("es", 2), ("en", 2), ("en", 3)),
    *(("es", 3), ("es", 4), ("de", 3), ("de", 4), ("en", 4), ("en", 5), ("de", 5), ("de", 7)),
    *(("es", 5), ("es", 7), ("de", 6), ("de", 0), ("es", 6), ("es", 0), ("en", 6), ("en", 7)),
)
"""Turns of the call that switches: language and number of the sentence."""
SHORT = {"en": ("Yes.", "No.", "Okay."), "de": ("Ja.", "Nein.", "Okay."), "es": ("Sí.", "No.", "Vale.")}
"""Turns of one word; each follows a turn in English."""


def spoken(engine: BlockingSynthesizer, text: str, voice: str) -> Samples:
    """Return the audio of a text at the recognizer's rate, with half a second of silence after it."""
    chunks: list[Samples] = []

    def emit(speech: Speech) -> bool:
        chunks.append(speech.samples)
        return True

    for _ in engine.open().push(Piece(text, 0, VoiceSettings(voice)), emit) or ():
        pass
    sound = np.concatenate([*chunks, np.zeros(engine.rate_hz // 2, np.int16)])
    return resample(sound, engine.rate_hz, SAMPLE_RATE_HZ)


async def recognized(
    recognizer: WhisperRecognizer, sound: Samples, expected: ExpectedSpeech = NOTHING_EXPECTED
) -> Hypothesis:
    """Return the final transcript."""

    async def stream() -> AsyncIterator[Samples]:
        for begin in range(0, len(sound), SAMPLE_RATE_HZ // 10):
            yield sound[begin : begin + SAMPLE_RATE_HZ // 10]

    *_, last = [hypothesis async for hypothesis in recognize_expecting(recognizer, stream(), expected)]
    return last


async def measure(model: Path, language: str, voice: str, engine: BlockingSynthesizer) -> None:
    """Print the row of a voice, and the sentences that were misread."""
    recognizer = WhisperRecognizer(str(model), compute_type="int8", language=language, device="cpu")
    await recognizer.start()
    sounds = [spoken(engine, text, voice) for text in TEXTS[language]]
    began = time.process_time()
    found = [(await recognized(recognizer, sound)).text for sound in sounds]
    cost = (time.process_time() - began) * SAMPLE_RATE_HZ / sum(map(len, sounds))
    await recognizer.close()
    wrong = [wrong_words(text, words) for text, words in zip(TEXTS[language], found, strict=True)]
    total = sum(len(text.split()) for text in TEXTS[language])
    print(f"| {language} | {voice} | {sum(wrong)} of {total} | {cost:.2f} |", flush=True)
    for text, words, count in zip(TEXTS[language], found, wrong, strict=True):
        if count:
            print(f"    {text} -> {words}", flush=True)


@dataclass
class Turns:
    """Counts over the turns of one kind. detecting_s, own_s: processor's seconds of recognition."""

    count: int = 0
    right: int = 0
    wrong_words: int = 0
    wrong_in_own: int = 0
    words: int = 0
    detecting_s: float = 0.0
    own_s: float = 0.0
    missed: list[str] = field(default_factory=list)

    def row(self, name: str) -> str:
        """Return the row of the table."""
        added_ms = 1000 * (self.detecting_s - self.own_s) / self.count
        wrong = f"{self.wrong_words}, {self.wrong_in_own} of {self.words}"
        return f"| {name} | {self.right} of {self.count} | {wrong} | {added_ms:.0f} |"


@dataclass
class SwitchingCall:
    """A call in several languages. detecting: recognizer of all; of_one: by language."""

    detecting: WhisperRecognizer
    of_one: dict[str, WhisperRecognizer]
    following: LanguageFollowing = field(default_factory=lambda: LanguageFollowing.among(tuple(TEXTS)))

    async def turn(self, language: str, text: str, sound: Samples, turns: Turns) -> None:
        """Take a turn, and count it. text: "" if unknown."""
        began = time.process_time()
        heard = await recognized(self.detecting, sound, ExpectedSpeech(self.following.code))
        turns.detecting_s += time.process_time() - began
        began = time.process_time()
        own = await recognized(self.of_one[language], sound)
        turns.own_s += time.process_time() - began
        self.following.observe(f"{id(turns)} {turns.count}", heard.text, heard.languages)
        turns.count += 1
        turns.right += self.following.code == language
        turns.words += len(text.split())
        turns.wrong_words += wrong_words(text, heard.text) if text else 0
        turns.wrong_in_own += wrong_words(text, own.text) if text else 0
        if self.following.code != language:
            shares = ", ".join(f"{code} {share:.2f}" for code, share in heard.languages)
            turns.missed.append(f"{language}: {text} -> {heard.text} ({shares}; {self.following.code})")


async def measure_calls(model: Path, sounds: dict[str, Samples]) -> None:
    """Print a row for each language, for turns of one word, and for people. sounds: by text and language."""

    async def loaded(*languages: str) -> WhisperRecognizer:
        one = WhisperRecognizer(
            str(model),
            compute_type="int8",
            device="cpu",
            threads=1,
            language=languages[0],
            languages=languages,
        )
        await one.start()
        return one

    of_one = {language: await loaded(language) for language in TEXTS}
    detecting = await loaded(*TEXTS)
    kinds = {language: Turns() for language in TEXTS} | {"one word": Turns(), "people (English)": Turns()}
    call = SwitchingCall(detecting, of_one)
    for language, number in CALLS:
        text = TEXTS[language][number]
        await call.turn(language, text, sounds[f"{language} {text}"], kinds[language])
    for language, texts in SHORT.items():
        for text in texts:
            call = SwitchingCall(detecting, of_one)
            call.following.observe("before", "I would like to book", (("en", 1.0),))
            await call.turn("en", text, sounds[f"{language} {text}"], kinds["one word"])
    call = SwitchingCall(detecting, of_one)
    for text, sound in people():
        await call.turn("en", text, sound, kinds["people (English)"])
    print("| turns | language right | words wrong: detected, own language | added CPU ms a turn |")
    for name, turns in kinds.items():
        print(turns.row(name) if turns.count else f"| {name} | not at hand | | |")
    for turns in kinds.values():
        print("\n".join(f"    {line}" for line in turns.missed), flush=True)
    for recognizer in (detecting, *of_one.values()):
        await recognizer.close()


def call_sounds(kokoro: Path, espeak: BlockingSynthesizer) -> dict[str, Samples]:
    """Return the turns by language and text. One language after the other: the phonemes of Kokoro's Spanish
    are espeak-ng's, which has one language at a time in a process.
    """
    sounds = {}
    for language, texts in TEXTS.items():
        engine, voice = espeak, "de"
        if language != "de":
            voice = {"en": "af_heart", "es": "ef_dora"}[language]
            engine = KokoroSynthesizer(kokoro, language, voice)
        for text in (*texts, *SHORT[language]):
            sounds[f"{language} {text}"] = spoken(engine, text, voice)
    return sounds


def people() -> Iterator[tuple[str, Samples]]:
    """Yield recordings of people with their transcripts, from the folder in VOICEAGENT_SPEECH."""
    folder = Path(os.environ.get("VOICEAGENT_SPEECH", "none"))
    manifest = folder / "manifest.json"
    for row in json.loads(manifest.read_text()) if manifest.is_file() else ():
        if row["text"]:
            with wave.open(str(folder / row["file"])) as recording:
                rate_hz = recording.getframerate()
                sound = np.frombuffer(recording.readframes(recording.getnframes()), np.int16)
            yield row["text"], resample(sound, rate_hz, SAMPLE_RATE_HZ)


def main() -> None:
    """Print the tables that the command line names, or both."""
    wanted = sys.argv[1:] or ["voices", "calls"]
    whisper, kokoro = stored("whisper-base"), stored("kokoro-82m") / "kokoro-v1.0.int8.onnx"
    print(f"arithmetic: CT2_USE_MKL={os.environ.get('CT2_USE_MKL', 'not set')}")
    espeak = EspeakSynthesizer()
    if "voices" in wanted:
        print("| language | voice | words wrong | CPU s a second of audio |")
        for voice in KOKORO:
            asyncio.run(measure(whisper, "es", voice, KokoroSynthesizer(kokoro, "es", voice)))
        for language, voices in ESPEAK.items():
            for voice in voices:
                asyncio.run(measure(whisper, language, voice, espeak))
    if "calls" in wanted:
        asyncio.run(measure_calls(whisper, call_sounds(kokoro, espeak)))


if __name__ == "__main__":
    main()
