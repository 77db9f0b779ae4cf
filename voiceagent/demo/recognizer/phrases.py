"""What callers of the demo hotel say, as a recognizer should write it.

`python -m voiceagent.demo.recognizer.phrases` writes the file, the same every time. Of what sounds alike the
bundled recognizer then hears what is likelier here.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from voiceagent.demo.data.catalogue import catalogue
from voiceagent.demo.data.conversations import questions
from voiceagent.demo.data.templates import expand, slots_of
from voiceagent.demo.data.typed import punctuated, uncontracted

PHRASES = Path(__file__).parents[1] / "weights" / "recognizer" / "phrases.txt"

_QUESTIONS = 32_000


def one_of_each(seed: int) -> Iterator[str]:
    """A question of every training template, also of those that callers seldom take."""
    rng, data = Random(seed), catalogue()
    values = data.slot_values("train")
    for template in data.templates("train"):
        slots = {slot: rng.choice(values[slot]) for slot in sorted(slots_of(template))}
        yield expand(template, rng, data.lexicon, slots)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m voiceagent.demo.recognizer.phrases", description=__doc__)
    parser.add_argument("--out", type=Path, default=PHRASES, help="the file that is written")
    out: Path = parser.parse_args(arguments).out
    asked = {*one_of_each(seed=0), *islice(questions(seed=0), _QUESTIONS)}
    phrases = {punctuated(text) for question in asked for text in (question, uncontracted(question))}
    out.write_text("\n".join(sorted(phrases)) + "\n")


if __name__ == "__main__":
    main()
