"""The LLM of a server: the configured engine, its monitoring and load shedding."""
