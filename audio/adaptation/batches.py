"""Recordings of about one length put together, so that little is computed for the silence they are filled up
with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

_STATES = 3_000  # length of a batch, about: 30 questions of 2.4 s
_SHUFFLED = 20  # states by which the order of lengths may be wrong, so that batches differ


@dataclass(frozen=True, slots=True)
class Example:
    """features: of the sound, [length, hidden]. tokens: what is said, with begin and end marks."""

    features: Tensor
    tokens: list[int]


@dataclass(frozen=True, slots=True)
class Batch:
    """Examples filled up to one length: features [batch, length, hidden] and tokens [batch, count];
    feature_mask [batch, length] and token_mask [batch, count] are false where they are filled up."""

    features: Tensor
    feature_mask: Tensor
    tokens: Tensor
    token_mask: Tensor


def groups(examples: Sequence[Example], seed: int) -> list[list[Example]]:
    """All examples, each in one group of about one length; the groups in any order."""
    rng = Random(seed)
    order = sorted(examples, key=lambda example: len(example.features) + rng.random() * _SHUFFLED)
    found: list[list[Example]] = [[]]
    for example in order:
        if len(found[-1]) * len(example.features) >= _STATES:
            found.append([])
        found[-1].append(example)
    rng.shuffle(found)
    return found


def filled_up(examples: Sequence[Example]) -> Batch:
    """The examples as one batch."""
    features = pad_sequence([example.features for example in examples], batch_first=True)
    tokens = pad_sequence([torch.tensor(example.tokens) for example in examples], batch_first=True)
    feature_mask = _filled([len(example.features) for example in examples])
    return Batch(features, feature_mask, tokens, _filled([len(example.tokens) for example in examples]))


def _filled(lengths: list[int]) -> Tensor:
    """A mask: true in the first columns of each row, as many as its length, false behind them."""
    return torch.arange(max(lengths))[None] < torch.tensor(lengths)[:, None]
