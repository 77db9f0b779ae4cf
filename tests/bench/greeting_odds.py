"""Learn the weights of `greeting_odds`: words and form of greetings of people and of machines.

python tests/bench/greeting_odds.py

A logistic regression with an L2 penalty, by gradient descent, on all greetings of `support/greetings.py`
but `UNSEEN`. Features in fewer than three greetings and weights under 0.13 are left out, the others rounded
to a quarter. Printed are the bias, the table, and how many greetings of each set are right with phrases and
weights together.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "support"))

from greetings import DRAWN, HELD_BACK, KNOWN, LATER, LOOKED_AT, UNSEEN, Row

from voiceagent.transports.telephony.outbound.policies.answered import Greeting
from voiceagent.transports.telephony.outbound.policies.greeting_odds import features

PENALTY = 0.002
STEPS, STEP = 2_000, 0.5
MIN_GREETINGS = 3
ROUNDED_TO, MIN_WEIGHT = 0.25, 0.13


def learned(rows: Sequence[Row]) -> tuple[float, dict[str, float]]:
    """Return the bias and the weight of each feature."""
    has = [set.union(*features(words)) for _, _, words in rows]
    counts = Counter(one for each in has for one in each)
    names = sorted(one for one, count in counts.items() if count >= MIN_GREETINGS)
    given = np.array([[*(name in each for name in names), True] for each in has], np.float64)
    machine = np.array([kind != "person" for kind, _, _ in rows], np.float64)
    penalty = np.array([PENALTY] * len(names) + [0.0])
    weights = np.zeros(len(penalty))
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-given @ weights))
        weights -= STEP * (given.T @ (likely - machine) / len(rows) + penalty * weights)
    rounded = np.round(weights / ROUNDED_TO) * ROUNDED_TO
    large = np.abs(weights) >= MIN_WEIGHT
    return float(rounded[-1]), {
        name: float(rounded[at]) for at, name in enumerate(names) if large[at] and rounded[at]
    }


def right(rows: Sequence[Row]) -> int:
    """Return the greetings of which person or machine is known."""
    return sum(
        (kind == "person") == (Greeting().on_turn(words, length_s).on_silence().kind == "person")
        for kind, length_s, words in rows
    )


def main() -> None:
    """Print the table."""
    bias, weights = learned([*KNOWN, *LOOKED_AT, *HELD_BACK, *LATER, *DRAWN])
    print(f"BIAS = {bias}")
    groups: defaultdict[float, list[str]] = defaultdict(list)
    for name, weight in weights.items():
        groups[weight].append(name)
    for weight in sorted(groups):
        print(weight, *groups[weight])
    for name, rows in {"later": LATER, "drawn": DRAWN, "unseen": UNSEEN}.items():
        print(f"{name}: person or machine {right(rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
