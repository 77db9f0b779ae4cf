"""The OpenAI engine against llama.cpp's own server, with strict templates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
import tiny_gguf
from strict_templates import STRICT

from llmcore.engine import Message, Request, ToolCall
from llmcore.engines.openai_engine import OpenAILlm

xllamacpp = pytest.importorskip("xllamacpp", reason="llama.cpp is missing: pip install xllamacpp gguf")
pytest.importorskip("gguf", reason="it is missing: pip install xllamacpp gguf")

LOOK = ToolCall("call_0123456789", "look", "{}")
CALL = (
    Message("system", "You keep a lighthouse."),
    Message("assistant", "Hello, this is the lighthouse."),
    Message("user", "Is there a ship?"),
    Message("assistant", "Let me look.", (LOOK,)),
    Message("tool", "One ship.", tool_call_id=LOOK.call_id),
    Message("user", "And now?"),
    Message("system", "Say that it is late."),
)


@asynccontextmanager
async def engine_of(template: str, folder: Path, asks: bool) -> AsyncIterator[OpenAILlm]:
    """Start llama.cpp's server with this template, and yield an engine for it."""
    params = xllamacpp.CommonParams()
    params.model.path = str(tiny_gguf.build(folder / "tiny.gguf", template))
    params.n_ctx, params.n_parallel, params.port = 4 * tiny_gguf.CONTEXT_TOKENS, 4, 0
    params.use_jinja, params.warmup = True, False
    params.cpuparams.n_threads = 1
    server = await asyncio.to_thread(xllamacpp.Server, params)
    engine = OpenAILlm("tiny", f"{server.listening_address}/v1", api_key_env="", retries=0)
    engine.asks_shapes = asks
    try:
        await engine.start()
        yield engine
    finally:
        await engine.close()
        del server


@pytest.mark.parametrize("name", ["free", "system_first", "no_system", "one_call"])
async def test_the_start_finds_out_what_a_template_refuses_or_leaves_out(name: str, tmp_path: Path) -> None:
    async with engine_of(STRICT[name].source, tmp_path, asks=True) as llm:
        # llama.cpp repairs some shapes: it adds the system role to templates without one
        assert llm.shapes.refused <= STRICT[name].refused
        # no tools: llama.cpp would search for calls in the answer, which is random words here
        async with aclosing(llm.generate(Request(CALL, max_tokens=1))) as deltas:
            assert [delta.finish_reason async for delta in deltas][-1] is not None


async def test_a_refusal_in_a_call_is_learned(tmp_path: Path) -> None:
    async with engine_of(STRICT["system_first"].source, tmp_path, asks=False) as llm:
        async with aclosing(llm.generate(Request(CALL, max_tokens=1))) as deltas:
            assert [delta.finish_reason async for delta in deltas][-1] is not None
        assert llm.shapes.refused == {"later_system"}
