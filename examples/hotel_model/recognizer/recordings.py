"""Training questions spoken by many voices: `python -m examples.hotel_model.recognizer.recordings FOLDER`.

For `voiceagent adapt`, which fine-tunes the bundled recognizer. No voice is among those of the evaluation.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

from rich.progress import track

from examples.hotel_model.data.typed import punctuated, uncontracted
from examples.hotel_model.evaluation.by_voice import Voice, missing_programs
from examples.hotel_model.recognizer.phrases import one_of_each

TABLE = "recordings.tsv"
"""Lines of a recording, a tab, and its transcript."""

_RECORDINGS, _SEED = 12_000, 2
_AT_ONCE = 2
_UNCONTRACTED = 0.2
_UNFINISHED = 0.2  # end in the middle: callers pause there, and are listened to
_MIN_WORDS = 2
_FLITE_SHARE = 0.3
_FLITE = ("awb", "kal", "kal16", "kal16")
_ACCENTS = (*["en-us"] * 6, "en-gb", "en-gb-x-rp", "en-gb-scotland", "en-us-nyc")
# One a line would be fifty lines.
# fmt: off
_VARIANTS = (
    "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "f1", "f3", "f4", "Adam", "Alex", "Alicia", "Andrea",
    "Andy", "Annie", "Antonio", "Auntie", "Belinda", "Benjamin", "Caleb", "David", "Denis", "Ed", "Edward",
    "Gene", "Iven", "John", "Lee", "Linda", "Mario", "Max", "Michael", "Mike", "Paul", "Quincy", "Rob",
    "Steph", "Steph2", "Tweaky", "Zac", "anika", "croak", "grandma", "grandpa", "klatt", "klatt2",
    "klatt4", "norbert", "sandro", "shelby", "travis", "victor",
)
# fmt: on
_WORDS_PER_MINUTE, _PITCHES = (130, 185), (30, 75)


def any_voice(rng: Random) -> Voice:
    """Return one of a few thousand voices, with or without telephone."""
    telephone = rng.random() < 0.5
    words_per_minute = rng.randint(*_WORDS_PER_MINUTE)
    if rng.random() < _FLITE_SHARE:
        name, stretch = rng.choice(_FLITE), f"duration_stretch={160 / words_per_minute:.2f}"
        return Voice(name, "flite", ("-voice", name, "--setf", stretch), telephone)
    name = f"{rng.choice(_ACCENTS)}+{rng.choice(_VARIANTS)}"
    how = ("-v", name, "-s", str(words_per_minute), "-p", str(rng.randint(*_PITCHES)))
    return Voice(name, "espeak-ng", how, telephone)


def sentences(rng: Random) -> Iterator[str]:
    """Yield training questions as they should be written, some unfinished, without end."""
    while True:
        questions = list(one_of_each(rng.randrange(2**32)))
        rng.shuffle(questions)
        for question in questions:
            text = punctuated(uncontracted(question) if rng.random() < _UNCONTRACTED else question)
            words = text.split()
            if len(words) > _MIN_WORDS and rng.random() < _UNFINISHED:
                text = " ".join(words[: rng.randrange(_MIN_WORDS, len(words))]).rstrip(",.?!")
            yield text


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.hotel_model.recognizer.recordings", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="where the recordings and their table are written")
    parser.add_argument("--number", type=int, default=_RECORDINGS, help="of recordings")
    options = parser.parse_args(arguments)
    if options.number < 1:
        parser.error(f"--number is {options.number}; allowed: 1 or more")
    if missing := missing_programs():
        parser.error(f"not installed: {' and '.join(missing)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    rng = Random(_SEED)
    texts = list(islice(sentences(rng), options.number))
    _speak(texts, [any_voice(rng) for _ in texts], options.folder)


def _speak(texts: Sequence[str], voices: Sequence[Voice], folder: Path) -> None:
    names = [f"{number:05}.wav" for number in range(len(texts))]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        spoken = pool.map(partial(_speak_one, folder), texts, voices, names)
        for _ in track(spoken, "speaking", len(names)):
            pass
    lines = [f"{name}\t{text}" for name, text in zip(names, texts, strict=True)]
    (folder / TABLE).write_text("\n".join(lines) + "\n")


def _speak_one(folder: Path, text: str, voice: Voice, name: str) -> None:
    voice.speak(text, folder / name)


if __name__ == "__main__":
    main()
