"""How the network that tells a voice's end is taught; `audio.onnx.voice_end_graph` runs it."""
