"""Trains the feature weights: `python -m examples.end_of_turn.train PAUSES...`.

A file has a pause per line, as JSON: the fields of `TurnEvidence`, `language`, `over` (the turn ended there)
and `weight` of the line. Generated numbers, spelled names and conditions are added. The weights are those of
logistic regression with a little L2, constrained in sign: a comma never makes an end likelier.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.end_of_turn.evidence import Observed, TurnEvidence, observe
from voiceagent.conversation.end_of_turn.language import language_of
from voiceagent.conversation.end_of_turn.probability import WITNESSES

SIGNS = {
    "ends": 1, "unfinished": -1, "asks": 1, "tells": -1, "full stop": 1, "question": 1, "comma": -1,
    "no stop": -1, "brief": -1, "pauses": -1, "doubt": -1, "sound": 1, "whole number": 1,
    "open number": -1, "open condition": -1,
}  # fmt: skip
"""The only sign that each feature's weight can have."""
L2 = 1.0
STEPS = 4000
RATE = 0.5
GENERATED_WEIGHT = 0.15
"""Weight of a generated line: there are many similar ones."""

Floats = NDArray[np.float64]
Line = tuple[str, str, bool]
"""Text of a caller, the agent's before it, and whether the turn is over."""


@dataclass(frozen=True, slots=True)
class Example:
    """Features in a pause, label and weight."""

    observed: Observed
    over: bool
    weight: float


def read(path: Path) -> Iterator[Example]:
    """Yield the pauses of a file."""
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        language, over, weight = row.pop("language"), row.pop("over"), row.pop("weight")
        yield Example(observe(TurnEvidence(**row), language_of(language)), over, weight)


def made(random: Random) -> Iterator[Example]:
    """Yield generated numbers in groups, names, addresses, conditions and vocatives, as recognizers write
    them.
    """
    english = language_of("en")
    for lines in (_numbers(random), _spelled(random), _vocatives(), _names(), _addresses(), _conditions()):
        for text, agent, over in lines:
            heard = text + random.choice((".", ".", ",", ""))
            yield Example(observe(TurnEvidence(heard, agent), english), over, GENERATED_WEIGHT)


def _numbers(random: Random) -> Iterator[Line]:
    names = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    for _ in range(400):
        digits = [random.randrange(10) for _ in range(10)]
        groups = random.choice(((3, 3, 4), (3, 4, 3), (2, 2, 2, 2, 2), (5, 5)))
        begin = random.choice(("", "My number is ", "It's ", "Yes, "))
        agent = random.choice(("", "What is your phone number?", "May I have your telephone number, please?"))
        written, at = [], 0
        for group in groups:
            part = digits[at : at + group]
            at += group
            written.append(random.choice(("".join(map(str, part)), " ".join(names[digit] for digit in part))))
            yield begin + " ".join(written), agent, at == 10


def _spelled(random: Random) -> Iterator[Line]:
    for _ in range(100):
        letters = [random.choice("abcdefghijklmnoprstuvw") for _ in range(random.randrange(3, 8))]
        for length in range(2, len(letters) + 1):
            spelled = random.choice((" ", "-")).join(letters[:length]).upper()
            yield spelled, "Could you spell your name?", length == len(letters)


def _vocatives() -> Iterator[Line]:
    called = "Computer, Hey Anna, Assistant, Hello there, Excuse me, Hey you, Big Joe, Listen"
    for vocative in called.split(", "):
        for _ in range(5):
            yield vocative, "", False


def _names() -> Iterator[Line]:
    for name in ("David Miller", "Maria Lopez", "John O'Brien", "Anna Schmidt", "Peter van Dyck"):
        first, _, last = name.partition(" ")
        for agent in ("What is your name, please?", "May I have your full name?"):
            yield first, agent, False
            yield f"My name is {first}", agent, False
            yield f"{first} {last}", agent, True


def _addresses() -> Iterator[Line]:
    for number, street in ((12, "Park Street"), (240, "Lake Road"), (7, "Station Avenue")):
        for agent in ("What is your address?", "What address should we send it to?"):
            yield f"{number}", agent, False
            yield f"{number} {street}", agent, False
            yield f"{number} {street} in Springfield", agent, True


def _conditions() -> Iterator[Line]:
    openings = (
        "If I come by car",
        "Unless it rains",
        "When we arrive on Friday",
        "Because my flight was late",
    )
    mains = (
        "can I park there",
        "we would like a table outside",
        "is there somebody at the desk",
        "I need a room",
    )
    for opening in openings:
        for main in mains:
            yield opening, "", False
            yield f"{opening}, {main}", "", True


def fit(examples: list[Example]) -> dict[str, float]:
    """Return the weights, by Adam (Kingma and Ba, 2015) with fixed signs."""
    names = ["bias", *SIGNS]
    seen = np.array([[1.0, *(one.observed.get(name, 0.0) for name in SIGNS)] for one in examples])
    over = np.array([one.over for one in examples], float)
    counts = np.array([one.weight for one in examples])
    weights = np.zeros(len(names))
    mean, square = np.zeros(len(names)), np.zeros(len(names))
    for step in range(1, STEPS + 1):
        error = counts * (_probabilities(seen @ weights) - over)
        gradient = (seen.T @ error + L2 * weights * (np.arange(len(names)) > 0)) / counts.sum()
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        rate = RATE / step**0.5
        weights -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        for index, sign in enumerate(SIGNS.values(), 1):
            weights[index] = sign * max(0.0, sign * weights[index])
    return dict(zip(names, (round(float(weight), 3) for weight in weights), strict=True))


def main() -> None:
    """Train on the files, write the weights and print the calibration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pauses", type=Path, nargs="+")
    arguments = parser.parse_args()
    examples = [example for path in arguments.pauses for example in read(path)] + list(made(Random(1)))
    weights = fit(examples)
    lines = [f"{name!r} = {weight}".replace("'", '"') for name, weight in weights.items()]
    WITNESSES.write_text(
        "# Learned by train.py; what each is, `evidence.py` says.\n" + "\n".join(lines) + "\n", "utf-8"
    )
    logits = np.array(
        [
            weights["bias"] + sum(weights[name] * seen for name, seen in one.observed.items())
            for one in examples
        ]
    )
    probabilities = _probabilities(logits)
    over = np.array([one.over for one in examples])
    counts = np.array([one.weight for one in examples])
    print(f"{len(examples)} pauses, of a weight of {counts.sum():.0f}")
    for low in np.arange(0, 1, 0.1):
        which = (probabilities >= low) & (probabilities < low + 0.1)
        if which.any():
            kept = np.average(over[which], weights=counts[which])
            print(f"said {low:.1f} to {low + 0.1:.1f}: {kept:.2f} of {which.sum()} were over")


def _probabilities(logits: Floats) -> Floats:
    probabilities: Floats = 1 / (1 + np.exp(-logits))
    return probabilities


if __name__ == "__main__":
    main()
