"""LLM requests: prompts, the history in them, prefills and summaries."""
