"""Access to vLLM's internals, and code that runs inside its processes."""
