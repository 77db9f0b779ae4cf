"""Measure each English voice of Kokoro-82M: cost, level, and the words that a recognizer reads back.

    .venv/bin/python tests/bench/kokoro_voices.py [VOICE...]

The demo's recognizer reads each sentence back once. Piper's Joe is measured in the same run, on the same
sentences, each on one thread.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import numpy as np
from human_voice import TEXTS, _words, read_back, wrong_words

from audio.pcm import Samples
from audio.synthesizers import BlockingSynthesizer, Speech
from audio.synthesizers.kokoro import KokoroSynthesizer
from audio.synthesizers.pieces import Piece
from audio.synthesizers.piper_english import PiperEnglishSynthesizer
from audio.synthesizers.voices import VoiceSettings
from voiceagent.weights import fetch, known_weights, weights_folder
from voiceagent.weights.progress import shown_progress


def stored(name: str) -> Path:
    """Return the folder of weights, downloaded if needed."""
    with shown_progress() as progress:
        return fetch(known_weights()[name], weights_folder(os.environ), progress, os.environ)


def spoken(engine: BlockingSynthesizer, text: str, voice: str) -> tuple[Samples, float, float]:
    """Return the audio of a text, and the processor's seconds until its first sound and its end."""
    chunks: list[Samples] = []
    first_s = 0.0
    began = time.process_time()

    def emit(speech: Speech) -> bool:
        nonlocal first_s
        first_s = first_s or time.process_time() - began
        chunks.append(speech.samples)
        return True

    for _ in engine.open().push(Piece(text, 0, VoiceSettings(voice)), emit) or ():
        pass
    return np.concatenate(chunks), first_s, time.process_time() - began


def row(engine: BlockingSynthesizer, voice: str, name: str) -> None:
    """Print what a voice costs, its level, and how many words were wrong."""
    made = [spoken(engine, text, voice) for text in TEXTS]
    sounds = [sound for sound, _, _ in made]
    length_s = sum(map(len, sounds)) / engine.rate_hz
    level = np.sqrt(np.mean(np.concatenate(sounds).astype(float) ** 2))
    heard = asyncio.run(read_back(sounds, engine.rate_hz))
    wrong = sum(wrong_words(text, words) for text, words in zip(TEXTS, heard, strict=True))
    total = sum(len(list(_words(text))) for text in TEXTS)
    first_ms = 1e3 * np.median([first for _, first, _ in made])
    cost = sum(seconds for _, _, seconds in made) / length_s
    print(
        f"| {name} | {length_s:.1f} | {first_ms:.0f} | {cost:.2f} | {level:.0f} | {wrong} of {total} |",
        flush=True,
    )


def main() -> None:
    """Print a row for each voice."""
    joe = PiperEnglishSynthesizer(stored("piper-en_US-joe") / "en_US-joe-medium.onnx")
    kokoro = KokoroSynthesizer(stored("kokoro-82m") / "kokoro-v1.0.int8.onnx")
    print("| voice | seconds | first sound, CPU ms | CPU s a second | level | words wrong |")
    row(joe, "", "Piper's Joe")
    for voice in sys.argv[1:] or kokoro.known_voices.names:
        row(kokoro, voice, voice)


if __name__ == "__main__":
    main()
