"""The network for the end of a voice as it is taught, against what Silero's graph runs of it."""

from __future__ import annotations

import numpy as np
import pytest
from sounds import voice_like

torch = pytest.importorskip("torch", reason="learning needs torch: make train installs it")

from audio.detection.vad import SAMPLE_RATE_HZ, SileroVad  # noqa: E402  (these import torch)
from audio.onnx import voice_end_graph  # noqa: E402
from audio.onnx.silero_graph import INPUT_SAMPLES  # noqa: E402
from examples.voice_end import train  # noqa: E402

torch.set_num_threads(1)  # threads that wait for each other stand still beside other tests' processes


def test_what_is_learned_is_what_the_graph_tells(tmp_path, monkeypatch):
    torch.manual_seed(3)
    network = train.Network()
    path = tmp_path / "voice_end.npz"
    np.savez(path, allow_pickle=False, **train.weights_of(network))
    monkeypatch.setattr(voice_end_graph, "WEIGHTS", path)
    sound = np.resize(voice_like(60), 12 * SAMPLE_RATE_HZ)
    with torch.no_grad():
        expected = network(torch.from_numpy(train.InputExtractor().extract([sound])).float())[0].numpy()
    vad = SileroVad()
    vad.load()
    states, told = vad.after_silence[np.newaxis], []
    padded = np.pad(sound, (64, 0))[np.newaxis] / np.float32(32_768)
    for begin in range(0, 40 * 512, 512):
        judgements, states = vad.run(padded[:, begin : begin + INPUT_SAMPLES], states)
        told.append(judgements[0, 1:])
    # a call begins with what silence leaves in the memory, a lesson with none
    told, odds, tenths_s = np.array(told)[5:], expected[5:40, 0], expected[5:40, 1]
    assert told[:, 0] == pytest.approx(1 / (1 + np.exp(-odds)), abs=0.01)
    assert told[:, 1] == pytest.approx(tenths_s / 10, abs=0.01)


def test_lessons_are_learned(monkeypatch):
    monkeypatch.setattr(train, "BATCH", 2)
    calls = train.calls_of([voice_like(60, seed) for seed in range(3)], 2, seed=1)
    network = train.learn(*calls)
    with torch.no_grad():
        taught, fresh = (
            float(train.loss(one(torch.stack(calls[0]).float()), calls[1]))
            for one in (network, train.Network())
        )
    assert taught < 0.8 * fresh
