"""What callers of the demo hotel say, as a recognizer should write it: `python -m voiceagent.demo.phrases`.

Of what sounds alike the bundled recognizer then hears what is likelier here. The same file every time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from voiceagent.demo.catalogue import catalogue
from voiceagent.demo.exchanges import Caller, Context
from voiceagent.demo.templates import expand, slots_of
from voiceagent.demo.typed import punctuated, uncontracted

PHRASES = Path(__file__).parent / "weights" / "recognizer" / "phrases.txt"

_QUESTIONS = 32_000


def questions(seed: int) -> Iterator[str]:
    """The training questions of callers in words, follow-ups among them, without end."""
    rng = Random(seed)
    caller = Caller("train", rng)
    while True:
        context = Context()
        for turn in range(3):
            exchange = caller.next(context, last=turn == 2)
            context = exchange.context
            yield exchange.question


def one_of_each(seed: int) -> Iterator[str]:
    """A question of every training template, also of those that callers seldom take."""
    rng, data = Random(seed), catalogue()
    values = data.slot_values("train")
    for template in data.templates("train"):
        slots = {slot: rng.choice(values[slot]) for slot in sorted(slots_of(template))}
        yield expand(template, rng, data.lexicon, slots)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m voiceagent.demo.phrases", description=__doc__)
    parser.add_argument("--out", type=Path, default=PHRASES, help="the file that is written")
    out: Path = parser.parse_args(arguments).out
    asked = {*one_of_each(seed=0), *islice(questions(seed=0), _QUESTIONS)}
    phrases = {punctuated(text) for question in asked for text in (question, uncontracted(question))}
    out.write_text("\n".join(sorted(phrases)) + "\n")


if __name__ == "__main__":
    main()
