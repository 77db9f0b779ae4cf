"""Phrases of the demo hotel's callers, as a recognizer should write them.

`python -m examples.hotel_model.recognizer.phrases` writes the file, the same each time. With it the bundled
recognizer prefers the likelier of two phrases that sound alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from examples.hotel_model.data.catalogue import catalogue
from examples.hotel_model.data.conversations import questions
from examples.hotel_model.data.requests import TAXI, Requests
from examples.hotel_model.data.templates import expand, slots_of
from examples.hotel_model.data.typed import punctuated, uncontracted
from voiceagent.demo import WEIGHTS

PHRASES = WEIGHTS / "recognizer" / "phrases.txt"

_QUESTIONS = 32_000
_REQUESTS = 12_000


def one_of_each(seed: int) -> Iterator[str]:
    """Yield a question of every training template, including rare ones."""
    rng, data = Random(seed), catalogue()
    values = data.slot_values("train")
    for template in data.templates("train"):
        slots = {slot: rng.choice(values[slot]) for slot in sorted(slots_of(template))}
        yield expand(template, rng, data.lexicon, slots)


def requests(seed: int) -> Iterator[str]:
    """Yield training requests, additions and changes of requests, without end."""
    drawn = Requests("train", Random(seed), misheard_share=0.0)
    while True:
        request = drawn.any()
        yield request.words
        if request.call is None:
            yield drawn.given(request.tool, request.known).words
        elif request.tool != TAXI:
            yield drawn.changed(request.tool, request.known).words
        else:
            yield drawn.given(TAXI, {}).words  # after the offer of one


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.hotel_model.recognizer.phrases", description=__doc__
    )
    parser.add_argument("--out", type=Path, default=PHRASES, help="the file that is written")
    out: Path = parser.parse_args(arguments).out
    said = (one_of_each(seed=0), islice(questions(seed=0), _QUESTIONS), islice(requests(seed=0), _REQUESTS))
    asked = {text for texts in said for text in texts}
    phrases = {punctuated(text) for question in asked for text in (question, uncontracted(question))}
    out.write_text("\n".join(sorted(phrases)) + "\n")


if __name__ == "__main__":
    main()
