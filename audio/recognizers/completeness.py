"""How complete a turn sounds, heard in the states of a recognizer's encoder, which cost nothing more.

A small network, taught to say of the states at the end of a sound what Smart Turn v3 says of the sound
itself (Hinton et al., "Distilling the Knowledge in a Neural Network", 2015;
`audio/adaptation/completeness.py`). It takes a third of a millisecond where that takes thirty. The states are
those of one encoder: of another, or of a corrected one, it can say nothing.
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
"""The last states that are looked at, 1.4 s of sound."""
LAST = 6
"""The mean of so many of the newest places counts beside the sum of all."""
WEIGHTS = "completeness.npz"


class Completeness:
    """The network for one encoder, with weights by the names of `audio.adaptation.completeness`."""

    def __init__(self, weights: dict[str, Floats]) -> None:
        self._weights = weights

    def probability(self, states: Floats) -> float:
        """That a turn is complete whose sound, with 0.2 s of silence behind it, has these states, [length,
        hidden]."""
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
    """The network for the encoder in a file; None where it was taught with another encoder."""
    with files("audio.recognizers").joinpath(WEIGHTS).open("rb") as file, np.load(file) as arrays:
        if str(arrays["encoder"]) != encoder_hash(encoder):
            return None
        return Completeness(
            {name: arrays[name].astype(np.float32) for name in arrays.files if name != "encoder"}
        )


def encoder_hash(encoder: Path) -> str:
    """What tells the encoder in a file from others. Raises OSError."""
    return hashlib.sha256(encoder.read_bytes()).hexdigest()


def _neighbours(hidden: Floats) -> Floats:
    """Each row with the two before and the two behind it, side by side."""
    padded = np.pad(hidden, ((2, 2), (0, 0)))
    beside: Floats = sliding_window_view(padded, 5, axis=0).transpose(0, 2, 1).reshape(len(hidden), -1)
    return beside


def _positive(values: Floats) -> Floats:
    return np.maximum(values, 0)
