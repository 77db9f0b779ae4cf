"""The LLM of a server: the configured engine, what watches over it and what gives way under load."""
