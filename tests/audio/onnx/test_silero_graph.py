"""Our graph of the network, compared with the original file."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from sounds import voice_like

from audio.detection.vad import SAMPLE_RATE_HZ, WINDOW_SAMPLES, installed_model
from audio.onnx.silero_graph import INPUT_SAMPLES, STATE, STATES, WINDOWS, silero_graph

SILERO_STATE = 128


@pytest.mark.parametrize("streams", [1, 5])
def test_a_stream_is_judged_as_by_the_file_itself(streams: int) -> None:
    """A voice in the middle of noise; what is remembered from window to window is carried on by each."""
    itself = onnxruntime.InferenceSession(str(installed_model()), providers=["CPUExecutionProvider"])
    ours = onnxruntime.InferenceSession(silero_graph(installed_model()), providers=["CPUExecutionProvider"])
    noise = np.random.default_rng(3).normal(0, 300, (streams, 70 * WINDOW_SAMPLES))
    sound = np.stack([np.pad(voice_like(50, seed), 10 * WINDOW_SAMPLES) for seed in range(streams)]) + noise
    sound = (sound / 32_768).astype(np.float32)
    rate = np.array(SAMPLE_RATE_HZ, np.int64)
    expected_states = np.zeros((2, streams, SILERO_STATE), np.float32)
    states = np.zeros((streams, STATE), np.float32)
    told = []
    for begin in range(0, sound.shape[1] - INPUT_SAMPLES, WINDOW_SAMPLES):
        windows = np.ascontiguousarray(sound[:, begin : begin + INPUT_SAMPLES])
        expected, expected_states = itself.run(None, {"input": windows, "state": expected_states, "sr": rate})
        judgements, states = ours.run(None, {WINDOWS: windows, STATES: states})
        assert judgements[:, :1] == pytest.approx(expected, abs=1e-4)
        told.append(float(judgements[0, 0]))
    assert min(told) < 0.1
    assert max(told) > 0.9


def test_spectra_take_half_the_products_of_the_files_basis() -> None:
    file, ours = onnx.load(installed_model()), onnx.load_model_from_string(silero_graph(installed_model()))
    sizes = {
        tensor.name: int(np.prod(tensor.dims))
        for tensor in [*file.graph.initializer, *ours.graph.initializer]
    }
    squared = {
        node.input[0] for node in ours.graph.node if node.op_type == "Mul" and len(set(node.input)) == 1
    }
    products = [node.input[1] for node in ours.graph.node if node.output[0] in squared]
    assert sum(sizes[name] for name in products) * 2 == sizes["model.stft.forward_basis_buffer"]
