"""What callers of the demo hotel say, as a recognizer should write it: `python -m llmcore.demo.phrases`.

Of what sounds alike the bundled recognizer then hears what is likelier here. The same file every time.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

from llmcore.demo.exchanges import Caller, Context
from llmcore.demo.typed import punctuated

PHRASES = Path(__file__).parent / "weights" / "recognizer" / "phrases.txt"

_QUESTIONS = 16_000


def questions(count: int, seed: int) -> Iterator[str]:
    """What `count` callers' training questions are, in words, follow-ups among them."""
    rng = Random(seed)
    caller = Caller("train", rng)

    def endless() -> Iterator[str]:
        while True:
            context = Context()
            for turn in range(3):
                exchange = caller.next(context, last=turn == 2)
                context = exchange.context
                yield exchange.question

    return islice(endless(), count)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m llmcore.demo.phrases", description=__doc__)
    parser.add_argument("--out", type=Path, default=PHRASES, help="the file that is written")
    out: Path = parser.parse_args(arguments).out
    out.write_text("\n".join(sorted({punctuated(text) for text in questions(_QUESTIONS, seed=0)})) + "\n")


if __name__ == "__main__":
    main()
