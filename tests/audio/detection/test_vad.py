"""The model of voice activity, itself."""

import numpy as np
import onnx
import pytest

from audio.detection.vad import WINDOW_SAMPLES, SileroVad, VadError

RNG = np.random.default_rng(7)


def test_rows_of_a_batch_are_bit_identical_to_runs_of_one(vad_model):
    windows = RNG.normal(0, 0.1, (9, 64 + WINDOW_SAMPLES)).astype(np.float32)
    states = RNG.normal(0, 0.1, (2, 9, 128)).astype(np.float32)
    probabilities, new_states = vad_model.run(windows, states)
    for row in range(9):
        probability, state = vad_model.run(windows[row : row + 1], states[:, row : row + 1])
        assert probability[0] == probabilities[row]
        assert np.array_equal(state[:, 0], new_states[:, row])


def test_what_a_run_told_is_not_changed_by_the_next(vad_model):
    loud, states = (
        RNG.normal(0, 0.1, (3, 64 + WINDOW_SAMPLES)).astype(np.float32),
        np.zeros((2, 3, 128), np.float32),
    )
    told = vad_model.run(loud, states)
    before = [array.copy() for array in told]
    vad_model.run(np.zeros_like(loud), told[1])
    assert all(map(np.array_equal, told, before))


def test_a_file_without_the_models_weights_is_refused(tmp_path):
    path = tmp_path / "other.onnx"
    graph = onnx.helper.make_graph([], "nothing", [], [])
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    with pytest.raises(VadError, match=r"other\.onnx has no weights 'model\.stft"):
        SileroVad(path).load()


def test_a_file_that_is_no_model_is_refused(tmp_path):
    path = tmp_path / "song.onnx"
    path.write_bytes(b"la la la")
    with pytest.raises(VadError, match=r"song\.onnx cannot be loaded: it is no ONNX file"):
        SileroVad(path).load()


def test_a_model_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(VadError, match=r"no_such\.onnx"):
        SileroVad(tmp_path / "no_such.onnx").load()
