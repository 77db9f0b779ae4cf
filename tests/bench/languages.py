"""Measure Whisper base in German and Spanish: words wrong in sentences of the voices at hand, and its cost.

    .venv/bin/python tests/bench/languages.py

Each sentence is spoken by espeak-ng's voices, in Spanish by Kokoro's too, and recognized as a turn of a call
is: 100 ms at a time, as fast as it is decoded. Numbers are written as words, so that only words count.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
from human_voice import wrong_words
from kokoro_voices import stored

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.recognizers.whisper import WhisperRecognizer
from audio.resample import resample
from audio.synthesizers import BlockingSynthesizer, Speech
from audio.synthesizers.espeak import EspeakSynthesizer
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.pieces import Piece
from audio.synthesizers.voices import VoiceSettings

TEXTS = {
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


async def recognized(recognizer: WhisperRecognizer, sound: Samples) -> str:
    """Return the final transcript."""

    async def stream() -> AsyncIterator[Samples]:
        for begin in range(0, len(sound), SAMPLE_RATE_HZ // 10):
            yield sound[begin : begin + SAMPLE_RATE_HZ // 10]

    text = ""
    async for hypothesis in recognizer.recognize(stream()):
        text = hypothesis.text
    return text


async def measure(model: Path, language: str, voice: str, engine: BlockingSynthesizer) -> None:
    """Print the row of a voice, and the sentences that were misread."""
    recognizer = WhisperRecognizer(str(model), compute_type="int8", language=language, device="cpu")
    await recognizer.start()
    sounds = [spoken(engine, text, voice) for text in TEXTS[language]]
    began = time.process_time()
    found = [await recognized(recognizer, sound) for sound in sounds]
    cost = (time.process_time() - began) * SAMPLE_RATE_HZ / sum(map(len, sounds))
    await recognizer.close()
    wrong = [wrong_words(text, words) for text, words in zip(TEXTS[language], found, strict=True)]
    total = sum(len(text.split()) for text in TEXTS[language])
    print(f"| {language} | {voice} | {sum(wrong)} of {total} | {cost:.2f} |", flush=True)
    for text, words, count in zip(TEXTS[language], found, wrong, strict=True):
        if count:
            print(f"    {text} -> {words}", flush=True)


def main() -> None:
    """Print a row for each voice."""
    whisper, kokoro = stored("whisper-base"), stored("kokoro-82m") / "kokoro-v1.0.int8.onnx"
    print(f"arithmetic: CT2_USE_MKL={os.environ.get('CT2_USE_MKL', 'not set')}")
    print("| language | voice | words wrong | CPU s a second of audio |")
    for voice in KOKORO:
        asyncio.run(measure(whisper, "es", voice, KokoroSynthesizer(kokoro, "es", voice)))
    espeak = EspeakSynthesizer()
    for language, voices in ESPEAK.items():
        for voice in voices:
            asyncio.run(measure(whisper, language, voice, espeak))


if __name__ == "__main__":
    main()
