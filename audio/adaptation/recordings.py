"""Recordings with transcripts, their augmentation, and batches of similar length, which limit padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from audio.pcm import Samples
from audio.recognizers import SAMPLE_RATE_HZ
from audio.resample import resample
from audio.wav import read_wav

_STATES = 3_000  # approximate size of a batch: 30 questions of 2.4 s
_LENGTH_JITTER = 20  # random part of the sort key, in states, so that batches differ between epochs
_MIN_S = 0.1
_OTHER_PACE, _PACE = 1 / 3, 0.13  # share of recordings with a changed pace, and the maximum change
_GAINS = (1.0, 0.5, 0.25)
_SILENCE_S = 0.375  # maximum, before and after
_NOISE = (0, 0, 3, 10, 30)  # standard deviation, of 32,768


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


@dataclass(frozen=True, slots=True)
class Recording:
    """Samples [n] at 16 kHz and their transcript, as it should be written."""

    sound: Samples
    text: str


def read_recordings(table: Path) -> Iterator[Recording]:
    """Return the recordings of a table: lines of a WAV file, of any rate, a tab, and its transcript.

    Paths are relative to the table's folder. Raises OSError and ValueError, at once for the table itself.
    """
    return _read(table, table.read_text(encoding="utf-8").splitlines())


def _read(table: Path, lines: Sequence[str]) -> Iterator[Recording]:
    for number, line in enumerate(lines, 1):
        path, tab, text = line.partition("\t")
        if not tab or not text.strip():
            raise ValueError(f"{table}, line {number}: {line!r} is not a path, a tab and what is said there")
        samples, rate_hz = read_wav(table.parent / path)
        if len(samples) < _MIN_S * rate_hz:
            problem = f"{path} has {len(samples) / rate_hz:.2f} s; allowed: {_MIN_S} or more"
            raise ValueError(f"{table}, line {number}: {problem}")
        yield Recording(resample(samples, rate_hz, SAMPLE_RATE_HZ), text.strip())


def varied(sound: Samples, rng: np.random.Generator) -> Samples:
    """Return `sound` [n] with random augmentation: pace and pitch, level, noise, silence around it.

    Pace and pitch as in Ko et al., "Audio Augmentation for Speech Recognition" (2015).
    """
    if rng.random() < _OTHER_PACE:
        sound = resample(sound, round(SAMPLE_RATE_HZ * rng.uniform(1 - _PACE, 1 + _PACE)), SAMPLE_RATE_HZ)
    before, behind = (round(rng.uniform(0, _SILENCE_S) * SAMPLE_RATE_HZ) for _ in range(2))
    whole = np.pad(sound, (before, behind)) * rng.choice(_GAINS)
    noisy = whole + rng.normal(0, rng.choice(_NOISE), len(whole))
    samples: Samples = np.clip(np.rint(noisy), -32_768, 32_767).astype(np.int16)
    return samples
