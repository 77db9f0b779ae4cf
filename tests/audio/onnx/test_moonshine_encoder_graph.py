"""Our graph of the encoder, compared with the original file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sounds import said

from audio.onnx import moonshine_encoder_graph
from audio.onnx.moonshine_encoder_graph import encoder_graph
from audio.onnx.runtime import OrtFile, onnx_session
from audio.recognizers.moonshine_files import model_files

Floats = NDArray[np.float32]
ENCODER = model_files(None)[0]
HEADS = 8


@pytest.fixture(name="graph", scope="module")
def of_the_file(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return onnx_session(encoder_graph(OrtFile(ENCODER), HEADS, tmp_path_factory.mktemp("graph")))


@pytest.fixture(name="itself", scope="module")
def as_it_comes() -> Any:
    return onnx_session(ENCODER)


@pytest.mark.parametrize("samples", [1_600, 1_791, 1_792, 16_000, 40_001])
async def test_the_states_of_a_sound_are_the_file_s(graph: Any, itself: Any, samples: int) -> None:
    """But for numbers that lie between two steps of 8 bits, which another order of sums may move."""
    sound = np.resize(await said("When is breakfast, and may I have it in my room?"), samples)
    wave: Floats = sound.astype(np.float32)[np.newaxis] / 32_768
    inputs = {"input_values": wave, "attention_mask": np.ones(wave.shape, np.int64)}
    expected, found = itself.run(None, inputs)[0], graph.run(None, {"wave": wave})[0]
    assert found.shape == expected.shape
    assert np.abs(found - expected).mean() < 0.1 * np.abs(expected).mean()


def test_codes_without_signs_say_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, graph: Any
) -> None:
    monkeypatch.setattr(moonshine_encoder_graph, "signed_products_are_exact", lambda: False)
    other = onnx_session(encoder_graph(OrtFile(ENCODER), HEADS, tmp_path))
    wave = np.random.default_rng(0).normal(0, 0.1, (1, 16_000)).astype(np.float32)
    expected, found = (each.run(None, {"wave": wave})[0] for each in (graph, other))
    assert np.array_equal(found, expected)


def test_an_encoder_whose_matrices_have_no_8_bits_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(OrtFile, "places", [])
    with pytest.raises(ValueError, match="must have 8 bits"):
        encoder_graph(OrtFile(ENCODER), HEADS, tmp_path)
