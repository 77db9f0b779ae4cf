"""vLLM's CUDA build: CUDA graphs, a cache in FP8, and the bench without weights."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import tiny_llama
from shipped_models import CHECKPOINT
from speculating_config import speculating_text

from llmcore.engine import Delta, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.cli.main import main

BENCH = ("--calls", "4", "--turns", "12", "--compare", "speculation", "--load-format", "dummy", "--json")
VARIANTS = ["as configured", "speculation off", "draft left out", "bad draft", "bad draft, always"]
"""What the bench compares with these options, as tests/voiceagent/bench/test_gpu_proof.py sees to."""

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("vllm")]


def bench_config() -> str:
    text = speculating_text().replace('dtype = "float32"', 'dtype = "bfloat16"')
    # vLLM wants that share free at the start, also where the cache's size is given: others may be on the GPU
    return text.replace("[llm]\n", "[llm]\ngpu_memory_utilization = 0.2\n", 1)


@asynccontextmanager
async def running(model: Path, **settings: Any) -> AsyncIterator[VllmLlm]:
    llm = VllmLlm(str(model), gpu_memory_utilization=0.2, max_num_seqs=8, **settings)
    await llm.start()
    try:
        yield llm
    finally:
        await llm.close()


async def read(llm: VllmLlm, text: str, **options: int) -> list[Delta]:
    async with aclosing(llm.generate(Request((Message("user", text),), **options))) as deltas:
        return [delta async for delta in deltas]


async def test_with_cuda_graphs_it_writes_what_it_writes_without(tmp_path: Path) -> None:
    model = tiny_llama.build(tmp_path)
    said = []
    for eager in (True, False):
        async with running(model, max_model_len=512, enforce_eager=eager) as llm:
            said.append("".join(delta.text for delta in await read(llm, "count")))
    assert said == [tiny_llama.RESPONSES["count"]] * 2


async def test_a_cache_in_fp8_holds_what_was_read(tmp_path: Path) -> None:
    async with running(CHECKPOINT, dtype="bfloat16", max_model_len=2048, kv_cache_dtype="fp8") as llm:
        question = "When is breakfast served, and until when may I come down? " * 8
        first, second = [(await read(llm, question, max_tokens=20))[-1].usage for _ in range(2)]
    assert first is not None and second is not None
    assert second.cached_tokens > first.cached_tokens
    assert second.completion_tokens == first.completion_tokens


def test_the_bench_needs_no_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "gpu.toml"
    config.write_text(bench_config())
    assert main(["bench", "llm", "--config", str(config), *BENCH]) == 0
    results = json.loads(capsys.readouterr().out)["measurements"]
    assert [result["variant"] for result in results] == VARIANTS
    assert all(result["turns"] == 12 and result["failed"] == 0 for result in results)
