"""ONNX: models run by onnxruntime, and those whose graph or numbers are rewritten as they are loaded."""
