"""ONNX models on one thread or as many as said: calls share the processor, no model may take all of it."""

from __future__ import annotations

from typing import Any

import onnxruntime  # type: ignore[import-untyped]  # ships no types


def onnx_session(model: str | bytes, threads: int = 1) -> Any:
    """An onnxruntime.InferenceSession of a model, by its path or its bytes.

    Raises one of onnxruntime's dozen exception types, which have no common base but Exception.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
