"""Trains the end-of-turn models of a language: `python -m examples.end_of_turn.train_language CODE FOLDER`.

The folder has text files with a sentence or a turn per line:

| file | content |
| --- | --- |
| `sentences.txt` | sentences and turns of all kinds: every beginning of one is a negative example, the whole a positive one |
| `asks.txt` | whole turns of callers who ask for something |
| `answers.txt` | whole turns of callers who answer a question of the agent |
| `tells.txt` | sentences that neither ask nor answer: stories, articles, introductions of a question |

Without the last three the language has no model of requests; without the first the stored model of ends is kept.
With `sentences.txt` it also learns the sentences of `languages/CODE_sentences.txt`, kinds that are rare in texts.
Fillers are inserted into `sentences.txt` at random, since written sentences have none and speakers do not end with
them. Numbers of lines per file say nothing about callers: requests and statements get equal prior weight.
"""  # noqa: E501  a table

from __future__ import annotations

import argparse
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from voiceagent.conversation.end_of_turn.language import LANGUAGES, asking_features, ending_features
from voiceagent.conversation.words import words_of

ENDS_BITS, ASKS_BITS = 20, 17
FEWEST_ENDS, FEWEST_ASKS = 3, 1
"""Minimum occurrences of a feature: rare ones crowd the table, in which two may share a slot."""
EXAMPLES_A_TIME = 80_000
"""With many examples, a feature must occur at least once per this many of them; that also generalises better.
"""
END_LOG_ODDS_MARGIN = 0.2
"""Nats subtracted from the log-odds of a complete sentence: speakers extend more of their sentences than
people who type.
"""
EPOCHS = 4
BATCH = 256
RATE = 0.15
DECAY = 2e-6
"""L2 on the weights that a batch touches."""
FILLERS = {"en": ("um", "uh", "er", "hmm"), "de": ("äh", "ähm", "hm"), "es": ("eh", "em", "este")}
FILLED = 0.15
HELD_OUT = 0.05

Words = tuple[str, ...]
Ids = NDArray[np.int64]
Example = tuple[Ids, bool]


def ending_examples(sentences: Iterable[Words], random: Random, fillers: Sequence[str]) -> Iterator[Example]:
    """Yield every beginning of these sentences, labelled True if it is the whole."""
    for sentence in sentences:
        words = list(sentence)
        if fillers and len(words) > 1 and random.random() < FILLED:
            words.insert(random.randrange(len(words)), random.choice(fillers))
        for length in range(1, len(words) + 1):
            yield _hashed(ending_features(words[:length]), ENDS_BITS), length == len(words)


def asking_examples(folder: Path) -> list[Example]:
    """Return the lines of a folder's files, labelled True if they ask or answer."""
    return [
        (_hashed(asking_features(words, asked), ASKS_BITS), asks)
        for name, asked, asks in (
            ("asks", False, True),
            ("answers", True, True),
            ("tells", False, False),
            ("tells", True, False),
        )
        for words in lines(folder / f"{name}.txt")
    ]


def lines(path: Path) -> list[Words]:
    """Return the words of each line of a file that has any."""
    return [words for line in path.read_text("utf-8").splitlines() if (words := words_of(line))]


def made_sentences(path: Path) -> list[Words]:
    """Return the sentences that a file's lines expand to: `2 * a (b|c)` is "a b" and "a c", each twice."""
    made = []
    for line in path.read_text("utf-8").splitlines() if path.is_file() else ():
        times, many, alternatives = line.rpartition(" * ")
        parts = [part.split("|") for part in re.split("[()]", alternatives)]
        if line and not line.startswith("#"):
            made += [words_of(" ".join(chosen)) for chosen in product(*parts)] * (int(times) if many else 1)
    return made


def without_rare(data: list[Example], bits: int, fewest: int) -> list[Example]:
    """Return the examples without features that occur less often than `fewest`."""
    seen = np.zeros(2**bits, np.int64)
    for ids, _ in data:
        np.add.at(seen, ids, 1)
    return [(ids[seen[ids] >= fewest], wanted) for ids, wanted in data]


def learn(data: list[Example], bits: int) -> tuple[NDArray[np.float32], float]:
    """Return weights [2 ** bits] and bias, by AdaGrad (Duchi, Hazan and Singer, 2011)."""
    weights: NDArray[np.float32] = np.zeros(2**bits, np.float32)
    squares: NDArray[np.float32] = np.full(2**bits, 1e-2, np.float32)
    bias, bias_squares = 0.0, 1e-2
    order = np.random.default_rng(1)
    for _ in range(EPOCHS):
        shuffled = order.permutation(len(data))
        for begin in range(0, len(data), BATCH):
            batch = [data[index] for index in shuffled[begin : begin + BATCH]]
            ids = np.concatenate([one[0] for one in batch])
            rows = np.repeat(np.arange(len(batch)), [len(one[0]) for one in batch])
            wanted = np.array([one[1] for one in batch], np.float32)
            logits = np.bincount(rows, weights[ids], len(batch)) + bias
            error = (1 / (1 + np.exp(-logits)) - wanted).astype(np.float32)
            touched, which = np.unique(ids, return_inverse=True)
            gradient = np.bincount(which, error[rows]).astype(np.float32) + DECAY * BATCH * weights[touched]
            squares[touched] += gradient**2
            weights[touched] -= RATE * gradient / np.sqrt(squares[touched])
            bias_squares += float(error.sum()) ** 2
            bias -= RATE * float(error.sum()) / bias_squares**0.5
    return weights, bias


def learned(
    name: str, data: list[Example], held_out: list[Example], bits: int, fewest: int
) -> dict[str, NDArray[np.generic]]:
    """Return the arrays stored for one model; print its quality on held-out examples."""
    weights, bias = learn(without_rare(data, bits, fewest), bits)
    scale = float(np.abs(weights).max()) / 127
    units = np.round(weights / scale).astype(np.int8)
    logits = np.array([bias + scale * units[ids].sum() for ids, _ in held_out])
    wanted = np.array([is_so for _, is_so in held_out])
    entropy = np.logaddexp(0, np.where(wanted, -logits, logits)).mean()
    print(
        f"{name}: {len(data)} examples; {len(held_out)} held out: "
        f"area under ROC {_area(logits, wanted):.3f}, cross entropy {entropy:.3f} nats"
    )
    return {name: units, f"{name}_scale": np.array(scale), f"{name}_bias": np.array(bias)}


def prior_logit(examples: Sequence[Example]) -> float:
    """Return the log-odds of a positive label, regardless of features."""
    so = sum(is_so for _, is_so in examples)
    return math.log(so / (len(examples) - so))


def main() -> None:
    """Train on a folder, print the quality on held-out data and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("language")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    random, path = Random(1), LANGUAGES / f"{arguments.language}.npz"
    stored: dict[str, NDArray[np.generic]] = dict(np.load(path)) if path.is_file() else {}
    if (arguments.folder / "sentences.txt").is_file():
        sentences = lines(arguments.folder / "sentences.txt")
        random.shuffle(sentences)
        held_out = round(HELD_OUT * len(sentences))
        made = made_sentences(LANGUAGES / f"{arguments.language}_sentences.txt")
        fillers = FILLERS.get(arguments.language, ())
        data = list(ending_examples(sentences[held_out:] + made, random, fillers))
        told = list(ending_examples(sentences[:held_out], random, ()))
        fewest = max(FEWEST_ENDS, len(data) // EXAMPLES_A_TIME)
        stored |= learned("ends", data, told, ENDS_BITS, fewest)
        stored["ends_bias"] = np.array(float(stored["ends_bias"]) - END_LOG_ODDS_MARGIN)
    if (arguments.folder / "asks.txt").is_file():
        examples = asking_examples(arguments.folder)
        random.shuffle(examples)
        held_out = round(HELD_OUT * len(examples))
        stored |= learned("asks", examples[held_out:], examples[:held_out], ASKS_BITS, FEWEST_ASKS)
        stored["asks_bias"] = np.array(float(stored["asks_bias"]) - prior_logit(examples))
    LANGUAGES.mkdir(exist_ok=True)
    np.savez_compressed(path, **stored)  # type: ignore[arg-type]  # its stub


def _hashed(features: Iterable[str], bits: int) -> Ids:
    return np.array([zlib.crc32(feature.encode()) & (2**bits - 1) for feature in features], np.int64)


def _area(logits: NDArray[np.float64], wanted: NDArray[np.bool_]) -> float:
    """Return the area under the ROC curve, by the Mann-Whitney statistic."""
    ranks = logits.argsort().argsort()
    count = int(wanted.sum())
    return float((ranks[wanted].sum() - count * (count - 1) / 2) / (count * (len(wanted) - count)))


if __name__ == "__main__":
    main()
