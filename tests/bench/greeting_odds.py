"""Learn the weights of `greeting_odds`, and write `greeting_weights.py`.

python tests/bench/greeting_odds.py

A logistic regression with an L2 penalty, by Adam, on all greetings of `support/greetings.py` but `RESERVED`,
on others made of templates, and on some of both as the demo's recognizer heard them over a telephone in
voices of eSpeak NG, half of them in a room (`greetings_heard.tsv`). Features in fewer than eight greetings
are left out, and the weights rounded to a quarter. Printed is how many greetings of each set are right.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "support"))

from greeting_templates import made
from greetings import DRAWN, HEARD, HELD_BACK, KNOWN, LAST, LATER, LOOKED_AT, MEASURED, UNSEEN, Row

from voiceagent.transports.telephony.outbound.policies import greeting_odds
from voiceagent.transports.telephony.outbound.policies.greeting_odds import features, words_of

Model = tuple[float, dict[str, float]]
PENALTY = 0.0006
STEPS, STEP, MEAN, SQUARES = 400, 0.03, 0.9, 0.999
MIN_GREETINGS = 8
ROUNDED_TO = 0.25
EACH = 12
TIMES = 2
"""Weight of a greeting that was written or heard, where one of a template counts once."""
WRITTEN = [*KNOWN, *LOOKED_AT, *HELD_BACK, *LATER, *DRAWN, *UNSEEN, *LAST, *MEASURED]
HEADER = '''"""Weights of `greeting_odds`, in nats, written by `tests/bench/greeting_odds.py`: do not edit."""

from __future__ import annotations

'''


def learned(rows: Sequence[Row]) -> Model:
    """Return the bias and the weight of each feature, rounded."""
    has = [features(words) for _, _, words in rows]
    counts = Counter(one for each in has for one in each)
    names = sorted(one for one, count in counts.items() if count >= MIN_GREETINGS)
    columns = {name: at for at, name in enumerate(names)}
    cells = [(row, columns[one]) for row, each in enumerate(has) for one in each if one in columns]
    row, column = np.array(cells).T
    machine = np.array([kind != "person" for kind, _, _ in rows], np.float64)
    penalty = np.array([PENALTY] * len(names) + [0.0])
    weights, mean, squares = np.zeros((3, len(penalty)))
    for step in range(1, STEPS + 1):
        odds = np.bincount(row, weights[column], len(rows)) + weights[-1]
        error = 1 / (1 + np.exp(-odds)) - machine
        slope = np.append(np.bincount(column, error[row], len(names)), error.sum()) / len(rows)
        slope += penalty * weights
        mean = MEAN * mean + (1 - MEAN) * slope
        squares = SQUARES * squares + (1 - SQUARES) * slope**2
        weights -= STEP * mean / (1 - MEAN**step) / (np.sqrt(squares / (1 - SQUARES**step)) + 1e-8)
    rounded = np.round(weights / ROUNDED_TO) * ROUNDED_TO
    return float(rounded[-1]), {name: float(rounded[at]) for at, name in enumerate(names) if rounded[at]}


def right(model: Model, rows: Sequence[Row]) -> int:
    """Return the greetings of which person or machine is known by the odds alone."""
    bias, weights = model
    return sum(
        (bias + sum(weights.get(one, 0.0) for one in features(words)) > 0) == (kind != "person")
        for kind, _, words in rows
    )


def usual(rows: Sequence[Row]) -> list[str]:
    """Return the words of many greetings."""
    counts = Counter(one for _, _, words in rows for one in set(words_of(words)))
    return sorted(one for one, count in counts.items() if count >= MIN_GREETINGS)


def written(model: Model, words: Sequence[str]) -> str:
    """Return the module with the weights. words: the usual ones."""
    bias, weights = model
    groups: defaultdict[float, list[str]] = defaultdict(list)
    for name, weight in weights.items():
        groups[weight].append(name)
    lines = [line for weight in sorted(groups) for line in wrap(f"{weight} {' '.join(groups[weight])}", 108)]
    table, usual_words = "\n".join(lines), "\n".join(wrap(" ".join(words), 108))
    return f'{HEADER}BIAS = {bias}\nTABLE = """\n{table}\n"""\nUSUAL_WORDS = """\n{usual_words}\n"""\n'


def main() -> None:
    """Write the table."""
    rows = [*TIMES * [*WRITTEN, *HEARD], *made(EACH)]
    model = learned(rows)
    path = Path(str(greeting_odds.__file__)).with_name("greeting_weights.py")
    path.write_text(written(model, usual([*WRITTEN, *made(EACH)])))
    sets = {"written": WRITTEN, "heard": HEARD, "other greetings of the templates": made(2, seed=2)}
    for name, greetings in sets.items():
        print(f"{name}: person or machine {right(model, greetings)} of {len(greetings)}")
    print(f"{len(model[1])} weights")


if __name__ == "__main__":
    main()
