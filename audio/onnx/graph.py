"""An ONNX graph that is put together in Python.

Its constants go into a file beside it as they are made (external data; github.com/onnx/onnx,
docs/ExternalData.md). onnxruntime maps that file and rearranges matrices out of it one by one; of a graph
that is handed to it as bytes it makes two further copies, and keeps the bytes for as long as the session
lives.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""

_WEIGHTS = "weights"
_IN_GRAPH_BYTES = 1_024
"""Weights smaller than this stay in the graph: onnxruntime needs shapes there to plan with."""
_PAGE_BYTES = 4_096


class Graph:
    """A graph, written to an empty folder. Names of values are made here.

    Raises OSError where there is no room for it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._written_bytes = 0

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """A constant of the graph; its name."""
        if value.nbytes < _IN_GRAPH_BYTES:
            self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        constant = TensorProto(
            name=name, dims=value.shape, data_type=kind, data_location=TensorProto.EXTERNAL
        )
        place = {"location": _WEIGHTS, "offset": self._written_bytes, "length": value.nbytes}
        for key, told in place.items():
            constant.external_data.add(key=key, value=str(told))
        with (self._folder / _WEIGHTS).open("ab") as weights:
            weights.write(np.ascontiguousarray(value).data)
            weights.write(bytes(-value.nbytes % _PAGE_BYTES))
            self._written_bytes = weights.tell()
        self._constants.append(constant)
        return name

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """An operator with one output; its name."""
        return self.add_all(operator, inputs, 1, **attributes)[0]

    def add_all(self, operator: str, inputs: list[str], outputs: int, **attributes: Any) -> list[str]:
        """An operator with this many outputs; returns their names."""
        names = [f"value_{len(self._nodes)}_{number}" for number in range(outputs)]
        return self.add_named(operator, inputs, names, **attributes)

    def add_named(
        self, operator: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        """An operator whose outputs have these names."""
        self._nodes.append(helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs

    def save(self, inputs: list[Any], outputs: list[Any]) -> Path:
        """Write the graph; the path of its file."""
        graph = helper.make_graph(self._nodes, "graph", inputs, outputs, self._constants)
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=8)
        path = self._folder / "graph.onnx"
        path.write_bytes(model.SerializeToString())
        return path
