"""Weights that are not part of the installation: their table, their download and its progress."""

from __future__ import annotations

from voiceagent.weights.store import WeightsUnavailable, fetch, find_weights, is_stored, weights_folder
from voiceagent.weights.table import Weights, known_weights

__all__ = [
    "Weights",
    "WeightsUnavailable",
    "fetch",
    "find_weights",
    "is_stored",
    "known_weights",
    "weights_folder",
]
