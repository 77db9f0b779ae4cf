"""What is asked of the LLM: requests, the history as prompts have it, prefills and summaries."""
