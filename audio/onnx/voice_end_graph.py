"""Detector of the end of a voice: a small network inside Silero's graph, whose spectra it shares.

Input: the loudness of a window's four frames in bands within a telephone's range, the output of Silero's
convolutions, and the probability of speech. A layer and a GRU (Cho et al., 2014) follow. Trained by
`examples.voice_end.train`; its card has the data and the results.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WEIGHTS = Path(__file__).with_name("voice_end.npz")
LOOKED_AT = "looked_at"
"""Name of the network's input of a window, [b, 128 + 4 x 20 + 1]."""
MEMORY = 64
"""Size of a stream's state."""
BANDS, LOW_HZ, HIGH_HZ = 20, 100.0, 3_800.0
_SPECTRUM = 129
_FREQUENCY_HZ = 62.5
_FAINTEST = 1e-4
"""Added to magnitudes before the logarithm: anything fainter is silence."""

Weights = dict[str, NDArray[np.float32]]

NODES = """
    band_magnitudes = MatMul (magnitude_rows, bands)
    band_levels = Add (band_magnitudes, faintest)
    band_logs = Log (band_levels)
    window_bands = Reshape (band_logs, of_80)
    looked_at = Concat <axis = 1> (seen, window_bands, probabilities)
    looking = Gemm (looked_at, look_weights, look_bias)
    looked = Relu (looking)
    of_looked = Gemm (looked, looked_weights, looked_bias)
    of_before = Gemm (before, before_weights, before_bias)
    looked_reset, looked_update, looked_new = Split <axis = 1, num_outputs = 3> (of_looked)
    before_reset, before_update, before_new = Split <axis = 1, num_outputs = 3> (of_before)
    resetting = Add (looked_reset, before_reset)
    reset = Sigmoid (resetting)
    updating = Add (looked_update, before_update)
    update = Sigmoid (updating)
    before_that_counts = Mul (reset, before_new)
    renewing = Add (looked_new, before_that_counts)
    renewed = Tanh (renewing)
    difference = Sub (before, renewed)
    difference_kept = Mul (update, difference)
    after = Add (renewed, difference_kept)
    ending = Gemm (after, end_weights, end_bias)
    end_odds, ended_ago = Split <axis = 1, num_outputs = 2> (ending)
    ended = Sigmoid (end_odds)
"""
"""Graph nodes. Inputs: Silero's `magnitude_rows`, `seen` and `probabilities`, and the state `before`.
Outputs: `ended` [b, 1], a probability, `ended_ago` [b, 1] in seconds, and the new state `after` [b, 64].
"""


def voice_end_weights() -> Weights:
    """Return the weights by the graph's names. Raises OSError, or ValueError if the file is invalid."""
    with np.load(WEIGHTS) as file:
        learned = {name: file[name].astype(np.float32) for name in file.files}
    return learned | {"bands": bands(), "faintest": np.array([_FAINTEST], np.float32)}


def bands() -> NDArray[np.float32]:
    """Return the weights of a spectrum's magnitudes in each band, [129, 20].

    Triangles of equal width on the mel scale (Stevens, Volkmann and Newman, 1937).
    """
    hz = np.arange(_SPECTRUM)[:, np.newaxis] * _FREQUENCY_HZ
    lowest, highest = (2_595 * np.log10(1 + end_hz / 700) for end_hz in (LOW_HZ, HIGH_HZ))
    edges = 700 * (10 ** (np.linspace(lowest, highest, BANDS + 2) / 2_595) - 1)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    shares = np.maximum(0, np.minimum((hz - low) / (middle - low), (high - hz) / (high - middle)))
    evened: NDArray[np.float32] = (shares / shares.sum(axis=0)).astype(np.float32)
    return evened
