"""Probability that a turn is complete, from the states of the recognizer's encoder, which are computed
anyway.

A small network trained to predict Smart Turn v3's rating of the audio from the last states (Hinton et al.,
"Distilling the Knowledge in a Neural Network", 2015; `audio/adaptation/completeness.py`). It takes a third of
a millisecond instead of thirty. It is valid for one encoder only: not for another, nor for a fine-tuned one.
Beside another model that encoder runs for it (`moonshine_model`).
"""

from __future__ import annotations

import hashlib
import math
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Floats = NDArray[np.float32]

STATES = 60
"""Number of last states used, 1.4 s of audio."""
LAST = 6
"""Number of newest positions whose mean is used in addition to the attention's sum."""
WEIGHTS = "completeness.npz"


class Completeness:
    """The network for one encoder. weights: by the names of `audio.adaptation.completeness`."""

    def __init__(self, weights: dict[str, Floats]) -> None:
        self._weights = weights

    def probability(self, states: Floats) -> float:
        """Return the probability that a turn is complete.

        Args:
            states: encoder states of its audio with 0.2 s of silence appended, [length, hidden].
        """
        weights, newest = self._weights, states[-STATES:]
        known = np.zeros((STATES, 1), np.float32)
        known[STATES - len(newest) :] = 1
        hidden = np.zeros((STATES, weights["position"].shape[1]), np.float32)
        hidden[STATES - len(newest) :] = newest @ weights["input"] + weights["input_bias"]
        hidden = _positive(hidden + weights["position"]) * known
        hidden = hidden + _positive(_neighbours(hidden) @ weights["near"] + weights["near_bias"])
        hidden = _positive(_neighbours(hidden * known)[::2] @ weights["far"] + weights["far_bias"])
        attention = np.where(known[::2] > 0, hidden @ weights["attention"] + weights["attention_bias"], -1e4)
        attention = np.exp(attention - attention.max(axis=0))
        attended = (attention / attention.sum(axis=0)).T @ hidden
        summed = np.concatenate([attended.reshape(-1), hidden[-LAST:].mean(axis=0)])
        inner = _positive(summed @ weights["inner"] + weights["inner_bias"])
        return 1 / (1 + math.exp(-float(inner @ weights["output"][:, 0] + weights["output_bias"][0])))


def completeness_of(encoder: Path) -> Completeness | None:
    """Return the network for the encoder in a file; None if it was trained with another encoder."""
    with files("audio.recognizers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as arrays:
        if str(arrays["encoder"]) != encoder_hash(encoder):
            return None
        return Completeness(
            {name: arrays[name].astype(np.float32) for name in arrays.files if name != "encoder"}
        )


def encoder_hash(encoder: Path) -> str:
    """Return the SHA-256 of the encoder's file. Raises OSError."""
    return hashlib.sha256(encoder.read_bytes()).hexdigest()


def _neighbours(hidden: Floats) -> Floats:
    """Concatenate each row with the two before and the two after it."""
    padded = np.pad(hidden, ((2, 2), (0, 0)))
    beside: Floats = sliding_window_view(padded, 5, axis=0).transpose(0, 2, 1).reshape(len(hidden), -1)
    return beside


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 0)
