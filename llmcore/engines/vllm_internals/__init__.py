"""What reaches into vLLM, or runs inside its own processes in place of parts of it."""
