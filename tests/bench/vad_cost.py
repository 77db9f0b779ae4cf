"""What a window of voice activity costs, by the model's own file and by the graph that is made of it.

taskset -c 0 .venv/bin/python tests/bench/vad_cost.py

Run by run in turn, as a shared machine is not as fast in one minute as in the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import onnxruntime

from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad, installed_model
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE

RUNS = 300


def main() -> None:
    """Print microseconds a window, median of the runs."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    itself = onnxruntime.InferenceSession(str(installed_model()), options, ["CPUExecutionProvider"])
    ours = SileroVad()
    ours.load()
    rng, rate = np.random.default_rng(1), np.array(SAMPLE_RATE_HZ, np.int64)
    for count in (1, 4, 8, 16, 32):
        windows = rng.normal(0, 0.1, (count, INPUT_SAMPLES)).astype(np.float32)
        states = np.zeros((2, count, STATE), np.float32)
        inputs = {"input": windows, "state": states, "sr": rate}
        pairs = [(_us(itself.run, None, inputs), _us(ours.run, windows, states)) for _ in range(RUNS)]
        before, after = (median(times) / count for times in zip(*pairs, strict=True))
        print(f"{count} windows: {before:.0f} us a window by the file, {after:.0f} ({after / before:.2f}x)")


def _us(run: Callable[..., object], *arguments: object) -> float:
    began_s = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - began_s) * 1e6


if __name__ == "__main__":
    main()
