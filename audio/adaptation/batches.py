"""Batches of recordings of similar length, which limits padding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

_STATES = 3_000  # approximate size of a batch: 30 questions of 2.4 s
_LENGTH_JITTER = 20  # random part of the sort key, in states, so that batches differ between epochs


@dataclass(frozen=True, slots=True)
class Example:
    """A training example. features: [length, hidden]. tokens: the transcript, with begin and end marks."""

    features: Tensor
    tokens: list[int]


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples padded to one length: features [batch, length, hidden] and tokens [batch, count].

    feature_mask [batch, length] and token_mask [batch, count] are false at padding.
    """

    features: Tensor
    feature_mask: Tensor
    tokens: Tensor
    token_mask: Tensor


def groups(examples: Sequence[Example], seed: int) -> list[list[Example]]:
    """Group examples of similar length; the groups are in random order."""
    rng = Random(seed)
    order = sorted(examples, key=lambda example: len(example.features) + rng.random() * _LENGTH_JITTER)
    found: list[list[Example]] = [[]]
    for example in order:
        if len(found[-1]) * len(example.features) >= _STATES:
            found.append([])
        found[-1].append(example)
    rng.shuffle(found)
    return found


def padded_batch(examples: Sequence[Example]) -> Batch:
    """Pad the examples to one batch."""
    features = pad_sequence([example.features for example in examples], batch_first=True)
    tokens = pad_sequence([torch.tensor(example.tokens) for example in examples], batch_first=True)
    feature_mask = _mask([len(example.features) for example in examples])
    return Batch(features, feature_mask, tokens, _mask([len(example.tokens) for example in examples]))


def _mask(lengths: list[int]) -> Tensor:
    """Return a mask whose rows are true for the first `lengths` columns."""
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
