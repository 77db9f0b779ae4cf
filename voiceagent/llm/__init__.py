"""The LLM of a server: the configured engine, what monitors it and what gives way under load."""
