"""The engines: CTranslate2, vLLM, and any server that speaks OpenAI's chat completions."""
