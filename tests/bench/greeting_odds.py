"""Learn the weights of `greeting_odds`, and write `greeting_weights.py`.

python tests/bench/greeting_odds.py

Two logistic regressions with an L2 penalty, by Adam: of a machine against a person, and, among machines, of a
menu and of a screener against a voicemail. Learned from are all greetings of `support/greetings.py`, others
made of templates, and some of both as the demo's recognizer heard them over a telephone in
voices of eSpeak NG, half of them in a room (`greetings_heard.tsv`). Features in fewer than eight greetings
are left out, and the weights rounded to a quarter. Printed is how many greetings of each set are right.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "support"))

from greeting_templates import made
from greetings import (
    BY_VOICE,
    DRAWN,
    FRESH,
    HEARD,
    HELD_BACK,
    KNOWN,
    LAST,
    LATER,
    LOOKED_AT,
    MEASURED,
    RESERVED,
    UNSEEN,
    Row,
)

from voiceagent.session.agent import AnsweredBy
from voiceagent.transports.telephony.outbound.policies import greeting_odds
from voiceagent.transports.telephony.outbound.policies.greeting_odds import features, words_of

Model = tuple[float, dict[str, float]]
PENALTY = 0.0006
STEPS, STEP, MEAN, SQUARES = 400, 0.03, 0.9, 0.999
MIN_GREETINGS = 8
ROUNDED_TO = 0.25
EACH = 12
TIMES = 3
"""Weight of a greeting that was written or heard, where one of a template counts once."""
SETS = (KNOWN, LOOKED_AT, HELD_BACK, LATER, DRAWN, UNSEEN, LAST, MEASURED, RESERVED, BY_VOICE, FRESH)
WRITTEN = [row for rows in SETS for row in rows]
HEADER = '''"""Weights of `greeting_odds`, in nats, written by `tests/bench/greeting_odds.py`: do not edit."""

from __future__ import annotations

'''


def learned(rows: Sequence[Row], kinds: Sequence[tuple[AnsweredBy, ...]]) -> list[Model]:
    """Return a model for each group of kinds, against the kinds in no group: bias and weights, rounded."""
    has = [features(words) for _, _, words in rows]
    counts = Counter(one for each in has for one in each)
    names = sorted(one for one, count in counts.items() if count >= MIN_GREETINGS)
    columns = {name: at for at, name in enumerate(names)}
    row, column = np.array(
        [(row, columns[one]) for row, each in enumerate(has) for one in each if one in columns]
    ).T
    is_kind = np.array([[kind in group for kind, _, _ in rows] for group in kinds], np.float64)
    penalty = np.array([PENALTY] * len(names) + [0.0])
    weights, mean, squares = np.zeros((3, len(kinds), len(penalty)))
    for step in range(1, STEPS + 1):
        odds = np.array([np.bincount(row, each[column], len(rows)) + each[-1] for each in weights])
        error = np.exp(odds) / (1 + np.exp(odds).sum(0)) - is_kind
        slope = np.array([np.append(np.bincount(column, e[row], len(names)), e.sum()) for e in error])
        slope = slope / len(rows) + penalty * weights
        mean = MEAN * mean + (1 - MEAN) * slope
        squares = SQUARES * squares + (1 - SQUARES) * slope**2
        weights -= STEP * mean / (1 - MEAN**step) / (np.sqrt(squares / (1 - SQUARES**step)) + 1e-8)
    rounded = np.round(weights / ROUNDED_TO) * ROUNDED_TO
    return [(float(each[-1]), dict(_not_zero(names, each))) for each in rounded]


def _not_zero(names: Sequence[str], weights: np.ndarray) -> Iterator[tuple[str, float]]:
    return ((name, float(weight)) for name, weight in zip(names, weights, strict=False) if weight)


def odds_of(model: Model, words: str) -> float:
    """Return the log-odds of a greeting."""
    bias, weights = model
    return bias + sum(weights.get(one, 0.0) for one in features(words))


def kind_by(models: Sequence[Model], words: str) -> AnsweredBy:
    """Return the kind of a greeting. models: of a machine, a menu and a screener."""
    machine, menu, screener = (odds_of(model, words) for model in models)
    if machine <= 0:
        return "person"
    return (
        "voicemail"
        if max(menu, screener) < greeting_odds.MIN_AGAINST_VOICEMAIL
        else "menu"
        if menu >= screener
        else "screener"
    )


def usual(rows: Sequence[Row]) -> list[str]:
    """Return the words of many greetings."""
    counts = Counter(one for _, _, words in rows for one in set(words_of(words)))
    return sorted(one for one, count in counts.items() if count >= MIN_GREETINGS)


def written(models: Sequence[Model], words: Sequence[str]) -> str:
    """Return the module with the weights. models: of a machine, a menu, a screener."""
    tables = "".join(
        f'{name}_BIAS = {bias}\n{name} = """\n{table_of(weights)}\n"""\n'
        for name, (bias, weights) in zip(("MACHINE", "MENU", "SCREENER"), models, strict=True)
    )
    return f'{HEADER}{tables}USUAL_WORDS = """\n{wrapped(words)}\n"""\n'


def table_of(weights: Mapping[str, float]) -> str:
    """Return the lines of a table: each weight, and the features that have it."""
    groups: defaultdict[float, list[str]] = defaultdict(list)
    for name, weight in weights.items():
        groups[weight].append(name)
    return "\n".join(wrapped([str(weight), *groups[weight]]) for weight in sorted(groups))


def wrapped(words: Sequence[str]) -> str:
    """Return lines of words."""
    return "\n".join(wrap(" ".join(words), 108))


def main() -> None:
    """Write the tables."""
    rows = [*TIMES * [*WRITTEN, *HEARD], *made(EACH)]
    machines = [row for row in rows if row[0] not in ("person", "fax")]
    models = [
        *learned(rows, [("voicemail", "menu", "screener", "fax")]),
        *learned(machines, [("menu",), ("screener",)]),
    ]
    path = Path(str(greeting_odds.__file__)).with_name("greeting_weights.py")
    path.write_text(written(models, usual([*WRITTEN, *made(EACH)])))
    sets = {"written": WRITTEN, "heard": HEARD, "other greetings of the templates": made(2, seed=2)}
    for name, greetings in sets.items():
        kinds = [(kind, kind_by(models, words)) for kind, _, words in greetings]
        right = sum(kind == found for kind, found in kinds)
        machine = sum((kind == "person") == (found == "person") for kind, found in kinds)
        print(f"{name}: of {len(greetings)}, kind {right}, person or machine {machine}")
    print(f"{sum(len(weights) for _, weights in models)} weights")


if __name__ == "__main__":
    main()
