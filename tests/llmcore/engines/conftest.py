"""A server with the habits of others, and the engine that asks it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from quirky_server import QuirkyServer

from llmcore.engines.openai_engine import OpenAILlm


@pytest.fixture
async def server() -> AsyncIterator[QuirkyServer]:
    server = QuirkyServer()
    async with server.serving():
        yield server


@pytest.fixture
async def llm(server: QuirkyServer) -> AsyncIterator[OpenAILlm]:
    engine = OpenAILlm("tiny", server.address, api_key_env="", retries=0)
    await engine.start()
    yield engine
    await engine.close()
