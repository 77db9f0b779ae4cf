"""The model of voice activity, itself."""

import numpy as np
import onnx
import pytest
from sounds import said

from audio.detection.vad import WINDOW_SAMPLES, SileroVad, VadError
from audio.onnx.silero_graph import STATE

RNG = np.random.default_rng(7)


def test_rows_of_a_batch_are_bit_identical_to_runs_of_one(vad_model):
    windows = RNG.normal(0, 0.1, (9, 64 + WINDOW_SAMPLES)).astype(np.float32)
    states = RNG.normal(0, 0.1, (9, STATE)).astype(np.float32)
    judgements, new_states = vad_model.run(windows, states)
    for row in range(9):
        judgement, state = vad_model.run(windows[row : row + 1], states[row : row + 1])
        assert np.array_equal(judgement[0], judgements[row])
        assert np.array_equal(state[0], new_states[row])


@pytest.mark.parametrize("level", [1.0, 0.1])
async def test_a_voice_has_ended_soon_after_it_has_and_not_before(vad_model, level):
    sound = (await said("I would like to book a table for two people.")).astype(np.float32) * level / 32_768
    loud = np.flatnonzero(np.abs(sound) > 0.1 * np.abs(sound).max())
    sound = np.pad(sound, (64, 512 * 20))
    states, ended, ago_s = vad_model.after_silence[np.newaxis], [], []
    for begin in range(0, len(sound) - 576, 512):
        judgements, states = vad_model.run(sound[np.newaxis, begin : begin + 576], states)
        ended.append(judgements[0, 1])
        ago_s.append(judgements[0, 2])
    first, last = loud[0] // 512, loud[-1] // 512
    assert np.mean(np.array(ended[first : last + 1]) < 0.8) > 0.9
    assert min(ended[last + 4 : last + 12]) > 0.8
    assert ago_s[last + 4] == pytest.approx(((last + 5) * 512 - loud[-1]) / 16_000, abs=0.06)


def test_what_a_run_told_is_not_changed_by_the_next(vad_model):
    loud, states = (
        RNG.normal(0, 0.1, (3, 64 + WINDOW_SAMPLES)).astype(np.float32),
        np.zeros((3, STATE), np.float32),
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
