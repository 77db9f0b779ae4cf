"""Builder of an ONNX graph.

Constants are written to a file next to the graph as they are added (external data; github.com/onnx/onnx,
docs/ExternalData.md). onnxruntime maps that file and rearranges matrices out of it one by one; of a graph
passed as bytes it makes two further copies and keeps the bytes for the life of the session.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

MICROSOFT = "com.microsoft"
"""Domain of onnxruntime's own operators."""

_WEIGHTS = "weights"
_IN_GRAPH_BYTES = 1_024
"""Smaller constants stay in the graph: onnxruntime needs shapes there to plan with."""
_PAGE_BYTES = 4_096


class Graph:
    """A graph, written to an empty folder. Generates the names of values.

    Raises OSError if the disk is full.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._written_bytes = 0

    def constant(self, name: str, value: NDArray[Any]) -> str:
        if value.nbytes < _IN_GRAPH_BYTES:
            self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        constant = TensorProto(
            name=name, dims=value.shape, data_type=kind, data_location=TensorProto.EXTERNAL
        )
        place = {"location": _WEIGHTS, "offset": self._written_bytes, "length": value.nbytes}
        for key, value_text in place.items():
            constant.external_data.add(key=key, value=str(value_text))
        with (self._folder / _WEIGHTS).open("ab") as weights:
            weights.write(np.ascontiguousarray(value).data)
            weights.write(bytes(-value.nbytes % _PAGE_BYTES))
            self._written_bytes = weights.tell()
        self._constants.append(constant)
        return name

    def add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        """Add an operator with one output and return the output's name."""
        return self.add_all(operator, inputs, 1, **attributes)[0]

    def add_all(self, operator: str, inputs: list[str], outputs: int, **attributes: Any) -> list[str]:
        names = [f"value_{len(self._nodes)}_{number}" for number in range(outputs)]
        return self.add_named(operator, inputs, names, **attributes)

    def add_named(
        self, operator: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> list[str]:
        self._nodes.append(helper.make_node(operator, inputs, outputs, domain=domain, **attributes))
        return outputs

    def save(self, inputs: list[Any], outputs: list[Any]) -> Path:
        """Write the graph and return the path of its file."""
        graph = helper.make_graph(self._nodes, "graph", inputs, outputs, self._constants)
        operators = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=operators, ir_version=8)
        path = self._folder / "graph.onnx"
        path.write_bytes(model.SerializeToString())
        return path
