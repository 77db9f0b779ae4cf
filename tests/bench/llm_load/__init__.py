"""The LLM alone under replayed conversations: the parts of `bench_llm.py`."""
