"""ONNX models: sessions, and graphs that are rebuilt at load time for speed."""
