"""A learned router: decides which turns a small model may answer, from turns answered by both models.

A logistic regression over hashed words and word pairs (Weinberger and others, "Feature Hashing for Large
Scale Multitask Learning", 2009) estimates the probability that the small model's answer is right. The small
model answers above a threshold, as in RouteLLM (Ong and others, 2024). The threshold is chosen by
cross-validation: on its training data the regression is overconfident.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from llmcore.engine import Message

BUCKETS = 4096
"""Size of the hash table of words; one weight each."""
FOLDS = 5
"""Folds of the cross-validation."""
ROUNDS, RATE, PENALTY = 300, 2.0, 3e-4
"""Gradient descent steps, learning rate and L2 penalty."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A turn: the messages up to it, and if each model's answer was right."""

    messages: tuple[Message, ...]
    small_right: bool
    large_right: bool


@dataclass(frozen=True, slots=True)
class LearnedRouter:
    """Logistic regression. weights: [BUCKETS], float32. threshold: least probability for the small model."""

    weights: NDArray[np.float32]
    bias: float
    threshold: float

    def probability(self, messages: Sequence[Message]) -> float:
        """Return the probability that the small model answers the last turn correctly."""
        found = _features(messages)
        score = self.bias + float(self.weights[found].sum()) / _norm(found)
        return float(1 / (1 + np.exp(-score)))

    def is_simple(self, messages: Sequence[Message]) -> bool:
        """Return True if the small model should answer the last turn."""
        return self.probability(messages) >= self.threshold

    def to_json(self) -> str:
        """Serialize the router for `read_router`."""
        (known,) = np.nonzero(self.weights)
        weights = {str(bucket): round(float(self.weights[bucket]), 3) for bucket in known}
        document = {"threshold": round(self.threshold, 4), "bias": round(self.bias, 3), "weights": weights}
        return json.dumps(document) + "\n"


def read_router(text: str) -> LearnedRouter:
    """Parse the output of `LearnedRouter.to_json`. Raises ValueError."""
    try:
        document = json.loads(text)
        weights = np.zeros(BUCKETS, np.float32)
        for bucket, weight in document["weights"].items():
            weights[int(bucket)] = weight
        return LearnedRouter(weights, float(document["bias"]), float(document["threshold"]))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            f"not a learned router: {error}; voiceagent bench routing --learn writes one"
        ) from error


def learn(samples: Sequence[Sample], max_loss: float) -> LearnedRouter:
    """Train the router that sends as many turns as possible to the small model.

    max_loss: share of all turns, 0 to 1, that may be answered wrongly as a result. Raises ValueError if there
    are too few turns.
    """
    if len(samples) < FOLDS * 2:
        raise ValueError(f"{len(samples)} turns were answered; allowed: at least {FOLDS * 2}")
    features = [_features(sample.messages) for sample in samples]
    small_right = np.array([sample.small_right for sample in samples])
    lost = np.array([sample.large_right and not sample.small_right for sample in samples])
    unseen = np.zeros(len(samples))
    for fold in range(FOLDS):
        rest = [index for index in range(len(samples)) if index % FOLDS != fold]
        weights, bias = _regress([features[index] for index in rest], small_right[rest])
        for index in range(fold, len(samples), FOLDS):
            unseen[index] = LearnedRouter(weights, bias, 0.0).probability(samples[index].messages)
    weights, bias = _regress(features, small_right)
    return LearnedRouter(weights, bias, _threshold(unseen, lost, max_loss))


def _threshold(probabilities: NDArray[np.float64], lost: NDArray[np.bool_], max_loss: float) -> float:
    """Return the lowest threshold that loses at most `max_loss` of all turns, or 1.01 if none does."""
    order = np.argsort(-probabilities, kind="stable")
    losses = np.cumsum(lost[order]) / len(lost)
    allowed = np.flatnonzero(losses <= max_loss)
    if not len(allowed):
        return 1.01
    if len(allowed) == len(order):
        return 0.0
    last, beyond = (float(probabilities[order[at]]) for at in (allowed[-1], allowed[-1] + 1))
    return (last + beyond) / 2 if last > beyond else float(np.nextafter(last, 2))


def _regress(
    features: Sequence[NDArray[np.intp]], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float32], float]:
    """Return weights and bias after full-batch gradient descent."""
    rows = np.concatenate([np.full(len(found), row) for row, found in enumerate(features)])
    columns = np.concatenate(features)
    values = np.concatenate([np.full(len(found), 1 / _norm(found)) for found in features])
    weights, bias = np.zeros(BUCKETS), 0.0
    for _ in range(ROUNDS):
        scores = np.bincount(rows, values * weights[columns], minlength=len(features)) + bias
        errors = 1 / (1 + np.exp(-scores)) - right
        slope = np.bincount(columns, values * errors[rows], minlength=BUCKETS) / len(features)
        weights -= RATE * (slope * np.sqrt(len(features)) / 4 + PENALTY * weights)
        bias -= RATE * float(errors.mean())
    return weights.astype(np.float32), bias


def _norm(found: NDArray[np.intp]) -> float:
    return float(np.sqrt(max(1, len(found))))


def _features(messages: Sequence[Message]) -> NDArray[np.intp]:
    """Return the buckets of the last turn's words and word pairs, and of its position (first or later)."""
    turns = [message.content for message in messages if message.role == "user"]
    words = ["<s>", *re.findall(r"\w+", (turns[-1] if turns else "").lower()), "</s>"]
    pairs = [" ".join(pair) for pair in pairwise(words)]
    before = ["<later>" if len(turns) > 1 else "<first>"]
    return np.unique([crc32(word.encode()) % BUCKETS for word in (*words[1:-1], *pairs, *before)])
