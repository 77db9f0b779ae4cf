"""Compare the cost of a voice activity window by the model's original file with that by our graph.

taskset -c 0 .venv/bin/python tests/bench/vad_cost.py

Run by run in turn, as a shared machine is not as fast in one minute as in the next. At last, what a batch of
20 telephone calls costs in a process that sleeps until the next one: it begins with cold caches.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from audio.detection.front_end import FrontEnd
from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad, installed_model
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE

RUNS = 300
SILERO_STATE = 128
CALLS, LOUD, RATE_HZ, FRAME_S = 20, 5, 8_000, 0.02


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
        states = np.zeros((count, STATE), np.float32)
        inputs = {"input": windows, "state": np.zeros((2, count, SILERO_STATE), np.float32), "sr": rate}
        pairs = [(_us(itself.run, None, inputs), _us(ours.run, windows, states)) for _ in range(RUNS)]
        before, after = (median(times) / count for times in zip(*pairs, strict=True))
        print(f"{count} windows: {before:.0f} us a window by the file, {after:.0f} ({after / before:.2f}x)")
    print(f"{CALLS} calls, {LOUD} loud, a batch each 20 ms: {asyncio.run(batches()):.0f} us of CPU a batch")


async def batches() -> float:
    """Return CPU microseconds of a round's frames, from their push to the last window; mean of the rounds."""
    front_end, rng, spent_ns = FrontEnd(), np.random.default_rng(1), 0
    front_end.start()
    streams = [front_end.open(RATE_HZ, lambda window: None) for _ in range(CALLS)]
    frames = [rng.normal(0, 1000 if call < LOUD else 10, 160).astype(np.int16) for call in range(CALLS)]
    for stream in streams:  # their windows end at different times
        stream.push(np.zeros(int(rng.integers(0, 256)), np.int16))
    for _ in range(RUNS):
        await asyncio.sleep(FRAME_S)
        begin_ns = time.thread_time_ns()
        for stream, frame in zip(streams, frames, strict=True):
            stream.push(frame)
        while any(stream.has_window for stream in streams):  # noqa: ASYNC110  callbacks tell no end
            await asyncio.sleep(0)
        spent_ns += time.thread_time_ns() - begin_ns
    return spent_ns / RUNS / 1000


def _us(run: Callable[..., object], *arguments: object) -> float:
    began_s = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - began_s) * 1e6


if __name__ == "__main__":
    main()
