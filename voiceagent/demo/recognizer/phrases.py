"""Phrases of callers of the demo hotel, as a recognizer should write them.

`python -m voiceagent.demo.recognizer.phrases` writes the file, deterministically. The bundled recognizer
prefers these among words that sound alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from voiceagent.demo.data.catalogue import catalogue
from voiceagent.demo.data.conversations import questions
from voiceagent.demo.data.requests import TAXI, Requests
from voiceagent.demo.data.templates import expand, slots_of
from voiceagent.demo.data.typed import punctuated, uncontracted

PHRASES = Path(__file__).parents[1] / "weights" / "recognizer" / "phrases.txt"

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
    parser = argparse.ArgumentParser(prog="python -m voiceagent.demo.recognizer.phrases", description=__doc__)
    parser.add_argument("--out", type=Path, default=PHRASES, help="the file that is written")
    out: Path = parser.parse_args(arguments).out
    said = (one_of_each(seed=0), islice(questions(seed=0), _QUESTIONS), islice(requests(seed=0), _REQUESTS))
    asked = {text for texts in said for text in texts}
    phrases = {punctuated(text) for question in asked for text in (question, uncontracted(question))}
    out.write_text("\n".join(sorted(phrases)) + "\n")


if __name__ == "__main__":
    main()
