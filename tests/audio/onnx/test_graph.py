from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from audio.onnx.graph import Graph
from audio.onnx.runtime import onnx_session

SMALL, LARGE = np.arange(4, dtype=np.float32), np.arange(40_000, dtype=np.float32).reshape(4, 10_000)


def saved(folder: Path, *constants: np.ndarray) -> Path:
    """A graph of the sum of `value` [4, 10 000] and constants."""
    graph, told = Graph(folder), "value"
    for number, each in enumerate(constants):
        told = graph.add("Add", [told, graph.constant(f"constant_{number}", each)])
    graph.add_named("Identity", [told], ["sum"])
    value, total = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 10_000]) for name in ("value", "sum")
    )
    return graph.save([value], [total])


def test_a_session_needs_the_files_of_its_graph_no_longer() -> None:
    with TemporaryDirectory() as folder:
        session = onnx_session(saved(Path(folder), LARGE, SMALL[:, np.newaxis], -LARGE, LARGE))
    told = session.run(None, {"value": LARGE})[0]
    assert np.array_equal(told, 2 * LARGE + SMALL[:, np.newaxis])


def test_large_constants_stand_beside_the_graph(tmp_path: Path) -> None:
    path = saved(tmp_path, LARGE, SMALL[:, np.newaxis])
    assert path.stat().st_size < 1_000
    inside = [
        onnx.external_data_helper.uses_external_data(each)
        for each in onnx.load(path, load_external_data=False).graph.initializer
    ]
    assert inside == [True, False]


def test_a_graph_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        saved(tmp_path / "missing", LARGE)
