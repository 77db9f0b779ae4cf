"""Tiny models and the engines that run them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
import tiny_llama
from chat_server import chat_app, serve

from llmcore.ct2_engine import CTranslate2Llm
from llmcore.engine import Llm
from llmcore.openai_engine import OpenAILlm


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that answers each word it knows with a fixed reply."""
    return tiny_llama.build(tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose reply depends on everything it has read."""
    return tiny_llama.build(tmp_path_factory.mktemp("random"), scripted=False)
