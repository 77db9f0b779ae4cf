"""Compare `piper-english` with Piper's package on one voice: time to first sound, cost, words read back.

    .venv/bin/python tests/bench/human_voice.py PYTHON

PYTHON: an interpreter of an environment of its own with piper-tts (GPL-3), such as
`python -m venv /tmp/piper && /tmp/piper/bin/pip install piper-tts==1.8.0`. Each sentence is spoken by both in
turn; both have one thread. The demo's recognizer reads the sound back.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np

from audio.pcm import Samples
from audio.recognizers import Flush
from audio.recognizers.moonshine import MoonshineRecognizer
from audio.resample import resample
from audio.synthesizers.pieces import Piece
from audio.synthesizers.piper_english import PiperEnglishSynthesizer
from voiceagent.text_normalization import normalize
from voiceagent.weights import fetch, known_weights, weights_folder
from voiceagent.weights.progress import shown_progress

TEXTS = (
    "Let me check.",
    "Of course, I can help you with that.",
    "Good afternoon, this is the Lakeside Hotel. How can I help you?",
    "Breakfast is served from seven to ten in the morning.",
    "We have a double room with a view of the lake, for a hundred and twenty dollars a night.",
    "A taxi to the airport takes about forty minutes, so please be in the lobby by half past six.",
)
RUNS = 7
READINGS = 3
"""Of each text by the recognizer: no two readings of a voice are alike."""

PIPER = """
import json, sys, time
from pathlib import Path
import onnxruntime
from piper import PiperConfig, PiperVoice
path = sys.argv[1]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
voice = PiperVoice(session, PiperConfig.from_dict(json.loads(Path(path + ".json").read_text())))
print("ready", flush=True)
for line in sys.stdin:
    began, busy = time.perf_counter(), time.process_time()
    first, sound = None, b""
    for chunk in voice.synthesize(json.loads(line)):
        if first is None:
            first, first_busy = time.perf_counter() - began, time.process_time() - busy
        sound += chunk.audio_int16_bytes
    cost = time.process_time() - busy
    told = {"first_s": first, "first_cpu_s": first_busy, "cpu_s": cost, "bytes": len(sound)}
    sys.stdout.write(json.dumps(told) + "\\n")
    sys.stdout.flush()
    sys.stdout.buffer.write(sound)
    sys.stdout.buffer.flush()
"""


class Piper:
    """Piper's package in a process of its environment."""

    def __init__(self, python: str, voice: Path) -> None:
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        command = [python, "-c", PIPER, str(voice)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout
        self._out.readline()

    def speak(self, text: str) -> tuple[dict[str, float], Samples]:
        """Return what it took, and the sound."""
        self._in.write(json.dumps(text).encode() + b"\n")
        self._in.flush()
        told = json.loads(self._out.readline())
        return told, np.frombuffer(self._out.read(told["bytes"]), np.int16)

    def close(self) -> None:
        """End the process."""
        self._in.close()
        self._process.wait()


def speak(engine: PiperEnglishSynthesizer, text: str) -> tuple[dict[str, float], Samples]:
    """The same of our engine."""
    began, busy = time.perf_counter(), time.process_time()
    told: dict[str, float] = {}
    sound: list[Samples] = []

    def emit(speech: object) -> bool:
        if not told:
            told.update(first_s=time.perf_counter() - began, first_cpu_s=time.process_time() - busy)
        sound.append(speech.samples)  # type: ignore[attr-defined]
        return True

    for _ in engine.open().push(Piece(text, 0), emit):
        pass
    told["cpu_s"] = time.process_time() - busy
    return told, np.concatenate(sound)


async def read_back(sounds: list[Samples], rate_hz: int) -> list[str]:
    """The words that the demo's recognizer hears in each."""
    recognizer = MoonshineRecognizer()
    await recognizer.start()

    async def heard(sound: Samples) -> str:
        async def stream() -> AsyncIterator[Samples | Flush]:
            yield resample(np.concatenate([sound, np.zeros(rate_hz // 2, np.int16)]), rate_hz, 16_000)
            yield Flush()

        words = ""
        async for hypothesis in recognizer.recognize(stream()):
            if hypothesis.settled:
                words = hypothesis.text
        return words

    found = [await heard(sound) for sound in sounds]
    await recognizer.close()
    return found


def wrong_words(text: str, heard: str) -> int:
    """Substituted, left out and added words."""
    wanted, said = (list(_words(each)) for each in (text, heard))
    row = list(range(len(said) + 1))
    for number, word in enumerate(wanted, 1):
        before, row[0] = row[0], number
        for at, other in enumerate(said, 1):
            before, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, before + (word != other))
    return row[-1]


def _words(text: str) -> Iterator[str]:
    for word in normalize(text, "en")[0].lower().replace("-", " ").split():
        if kept := "".join(filter(str.isalnum, word)):
            yield kept


def main() -> None:
    """Print a row for each text, and the sums."""
    weights = known_weights()["piper-en_US-joe"]
    with shown_progress() as progress:
        folder = fetch(weights, weights_folder(os.environ), progress, os.environ)
    voice = folder / "en_US-joe-medium.onnx"
    engine, piper = PiperEnglishSynthesizer(voice), Piper(sys.argv[1], voice)
    sounds: dict[str, list[Samples]] = {"ours": [], "piper": []}
    print(f"{'text':34} first sound ms (CPU): piper, ours, ratio | CPU s a second of sound: piper, ours")
    for text in TEXTS:
        rows: dict[str, list[dict[str, float]]] = {"ours": [], "piper": []}
        for _ in range(RUNS):
            for name, (told, sound) in (("piper", piper.speak(text)), ("ours", speak(engine, text))):
                rows[name].append(told | {"part": told["cpu_s"] * engine.rate_hz / len(sound)})
        for _ in range(READINGS):
            sounds["piper"].append(piper.speak(text)[1])
            sounds["ours"].append(speak(engine, text)[1])
        middle = {
            name: {
                key: statistics.median(each[key] for each in told)
                for key in ("first_s", "first_cpu_s", "part")
            }
            for name, told in rows.items()
        }
        theirs, ours = middle["piper"], middle["ours"]
        first, cpu = (ours[key] / theirs[key] for key in ("first_s", "first_cpu_s"))
        print(
            f"{text[:34]:34} {theirs['first_s'] * 1e3:4.0f} ({theirs['first_cpu_s'] * 1e3:.0f}), "
            f"{ours['first_s'] * 1e3:4.0f} ({ours['first_cpu_s'] * 1e3:.0f}), "
            f"{first:.2f} ({cpu:.2f}) | "
            f"{theirs['part']:.3f}, {ours['part']:.3f}"
        )
    piper.close()
    texts = [text for text in TEXTS for _ in range(READINGS)]
    total = sum(len(list(_words(text))) for text in texts)
    for name, each in sounds.items():
        heard = asyncio.run(read_back(each, engine.rate_hz))
        wrong = sum(wrong_words(text, words) for text, words in zip(texts, heard, strict=True))
        print(f"read back, {name}: {wrong} of {total} words wrong")


if __name__ == "__main__":
    main()
