"""Training of the network that detects the end of a voice; `audio.onnx.voice_end_graph` runs it."""
