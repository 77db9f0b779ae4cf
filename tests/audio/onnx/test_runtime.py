from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from audio.onnx.runtime import OrtFile, onnx_session
from audio.recognizers.moonshine_files import model_files

FC1 = "layers.0.mlp.fc1"


ENCODER = model_files(None)[0]


def test_all_matrices_of_an_encoder_are_found() -> None:
    file = OrtFile(ENCODER)
    parts = (
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.fc1",
        "mlp.fc2",
    )
    assert set(file.places) == {f"layers.{number}.{part}" for number in range(6) for part in parts}
    assert file.matrix(FC1).shape == (288, 1152)


def test_a_change_is_added_to_a_step_of_8_bits() -> None:
    file = OrtFile(ENCODER)
    before = file.matrix(FC1)
    step = np.diff(np.unique(before)).min()
    change = np.full(before.shape, 0.3 * step, np.float32)
    file.add(FC1, change)
    found = file.matrix(FC1) - before
    assert np.abs(found - change).max() < 1.01 * step
    assert found.mean() == pytest.approx(0.3 * step, rel=0.02)


def test_no_other_matrix_changes_and_nothing_by_nothing() -> None:
    file = OrtFile(ENCODER)
    others = {place: file.matrix(place) for place in file.places if place != FC1}
    file.add(FC1, np.zeros((288, 1152), np.float32))
    assert file.data.tobytes() == ENCODER.read_bytes()
    file.add(FC1, np.ones((288, 1152), np.float32))
    assert all(np.array_equal(file.matrix(place), matrix) for place, matrix in others.items())
    assert len(file.data) == ENCODER.stat().st_size


def test_the_same_change_gives_the_same_file() -> None:
    one, other = OrtFile(ENCODER), OrtFile(ENCODER)
    for file in (one, other):
        file.add(FC1, np.random.default_rng(0).normal(0, 0.01, (288, 1152)).astype(np.float32))
    assert one.data.tobytes() == other.data.tobytes() != ENCODER.read_bytes()


def test_onnxruntime_computes_with_what_was_changed(tmp_path: Path) -> None:
    file = OrtFile(ENCODER)
    for place in file.places:
        if place.endswith("fc2"):  # what layers add to what they are given
            file.add(place, -file.matrix(place))
    sound = np.random.default_rng(0).normal(0, 0.1, (1, 8_000)).astype(np.float32)
    inputs = {"input_values": sound, "attention_mask": np.ones(sound.shape, np.int64)}
    file.data.tofile(changed_file := tmp_path / "changed.ort")
    as_it_was, changed = (onnx_session(model).run(None, inputs)[0] for model in (ENCODER, changed_file))
    assert as_it_was.shape == changed.shape
    assert np.abs(as_it_was - changed).max() > 0.1


def test_a_change_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"layers.0.mlp.fc1 has the shape \(288, 1152\), not \(2, 2\)"):
        OrtFile(ENCODER).add(FC1, np.zeros((2, 2), np.float32))


@pytest.mark.parametrize("length", [8, 200, 100_000])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    (file := tmp_path / "cut.ort").write_bytes(ENCODER.read_bytes()[:length])
    with pytest.raises(ValueError, match="it is broken"):
        OrtFile(file)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "model.ort").write_bytes(b"\x08\x07\x12\x07pytorch and more")
    with pytest.raises(ValueError, match="not a file of onnxruntime's format"):
        OrtFile(file)


@pytest.mark.parametrize("varying_shapes", [True, False])
def test_a_plan_of_memory_is_kept_only_for_shapes_that_come_again(varying_shapes: bool) -> None:
    session = onnx_session(ENCODER, varying_shapes=varying_shapes)
    assert session.get_session_options().enable_mem_pattern is not varying_shapes


def test_threads_of_a_session_do_not_spin_while_they_wait() -> None:
    options = onnx_session(ENCODER, threads=2).get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == "0"
