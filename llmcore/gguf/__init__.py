"""GGUF files, the form in which llama.cpp's models are shared: read, and converted for the other engines."""
