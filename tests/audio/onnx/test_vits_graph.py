"""A Piper voice in three parts: windows of sound are those of the whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import tiny_vits
from hypothesis import given
from hypothesis import strategies as st

from audio.onnx.vits_graph import DECODER_CONTEXT, FLOW_CONTEXT, FLOW_WINDOW, WINDOWS, NotVits, VitsGraph

SCALES = np.array([0, 1, 0], np.float32)


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_vits.build(tmp_path_factory.mktemp("voice"))


@pytest.fixture(scope="module")
def graph(voice: Path) -> VitsGraph:
    return VitsGraph(voice, 1, 0.0, 0.0)


@pytest.fixture(scope="module")
def whole(voice: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(str(voice))


@given(ids=st.lists(st.integers(0, 40), min_size=1, max_size=200))
def test_windows_joined_are_the_sound_of_the_whole_graph(
    graph: VitsGraph, whole: onnxruntime.InferenceSession, ids: list[int]
) -> None:
    fed = {"input": np.array([ids]), "input_lengths": np.array([len(ids)]), "scales": SCALES}
    expected = whole.run(None, fed)[0].reshape(-1)
    joined = np.concatenate(list(graph.sound(graph.encode(ids, 1.0))))
    np.testing.assert_allclose(joined, expected, atol=1e-6)


def test_first_window_is_short_whatever_the_length(graph: VitsGraph) -> None:
    first = next(iter(graph.sound(graph.encode([20] * 300, 1.0))))
    assert len(first) == WINDOWS[0] * tiny_vits.HOP


def test_flow_runs_once_for_the_first_sound_and_then_for_many_windows(
    graph: VitsGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = graph.encode([20] * 300, 1.0)
    count, flowed, run = encoded.latents.shape[2], [], graph._flowed
    monkeypatch.setattr(
        graph, "_flowed", lambda latents, speaker: flowed.append(latents.shape[2]) or run(latents, speaker)
    )
    windows = len(list(graph.sound(encoded)))
    first = WINDOWS[0] + DECODER_CONTEXT
    assert flowed[0] == first + FLOW_CONTEXT
    assert len(flowed) == 1 + -(-(count - first) // FLOW_WINDOW) < windows


def test_durations_are_those_of_the_phoneme_ids(graph: VitsGraph) -> None:
    encoded = graph.encode([1, 20, 30], 2.0)
    assert encoded.frames.tolist() == [6, 6, 6]
    assert encoded.latents.shape[2] == 18


def test_noise_of_a_phrase_is_always_the_same(voice: Path) -> None:
    first, again, without = (
        VitsGraph(voice, 1, noise, 0.0).encode([20, 30, 20], 1.0).latents for noise in (0.6, 0.6, 0.0)
    )
    np.testing.assert_array_equal(first, again)
    assert np.ptp(first - without) > 0.6


def test_graph_without_flow_or_decoder_is_refused(tmp_path: Path) -> None:
    model = tiny_vits.model()
    for node in model.graph.node:
        node.name = node.name.replace("/flow/", "/other/")
    onnx.save(model, tmp_path / "voice.onnx")
    with pytest.raises(NotVits, match="no flow"):
        VitsGraph(tmp_path / "voice.onnx", 1, 0.0, 0.0)
