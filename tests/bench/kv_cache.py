"""The KV cache where it is too small, in another format, with a window, and where it might go on a CPU.

.venv/bin/python tests/bench/kv_cache.py [pressure] [fp8] [window] [offload]

pressure: what becomes of responses that do not all fit into it. fp8: the same questions answered from a cache
in FP8. window: what a prompt takes where attention has one. offload: what comes back of a cache that goes to
the machine's memory, or to files.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from shaped_model import SMALL, Stream, ask, device_settings, words, write_model

from llmcore.engine import LlmError, Message, Request
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL

CHECKPOINT = str(Path(__file__).parents[2] / "voiceagent/demo/weights/target")
QUESTIONS = 24
PRESSED, PROMPT_TOKENS, WRITTEN_TOKENS = 12, 100, 120
"""Responses at once, and the tokens of the prompt and the response of each."""


async def main(parts: list[str]) -> None:
    """Each part in turn."""
    for part in parts or list(PARTS):
        print(f"{part}  {await PARTS[part]()}", flush=True)


@asynccontextmanager
async def running(model: str, **settings: Any) -> AsyncIterator[VllmLlm]:
    """An engine, ended afterwards."""
    llm = VllmLlm(model, **device_settings(), **settings)
    try:
        await llm.start()
        yield llm
    finally:
        await llm.close()


def asked() -> list[Request]:
    """Questions of the demo's, behind its system prompt."""
    system = Message("system", load(Path("configs/vllm-cpu.toml")).instructions())
    questions = [one.questions[0] for one in Material(MATERIAL).conversations()[:QUESTIONS]]
    return [Request((system, Message("user", question)), max_tokens=60) for question in questions]


async def said(llm: VllmLlm, request: Request) -> str:
    """The response, or why there is none."""
    try:
        async with aclosing(llm.generate(request)) as deltas:
            return "".join([delta.text async for delta in deltas])
    except LlmError as error:
        return f"LOST: {error}"


async def pressure() -> str:
    """Write responses in threes, which fit into the cache, and then all at once, four times as much as it
    holds: the texts, how often vLLM preempted a running response, and the seconds of all.
    """
    prompts = [words(PROMPT_TOKENS, Random(number)) for number in range(PRESSED)]
    blocks = 3 * (PROMPT_TOKENS + WRITTEN_TOKENS) // 32 + 6
    sizes = {"max_model_len": 256, "max_num_seqs": PRESSED, "load_format": "dummy"}
    with tempfile.TemporaryDirectory() as folder:
        model = str(write_model(SMALL, Path(folder)))
        async with running(model, engine_args={"num_gpu_blocks_override": blocks}, **sizes) as llm:
            alone, began_s = list[Stream](), time.monotonic()
            for first in range(0, PRESSED, 3):
                three = prompts[first : first + 3]
                alone += await asyncio.gather(*(ask(llm, prompt, WRITTEN_TOKENS) for prompt in three))
            never, took_s = llm.load().preemptions or 0, time.monotonic() - began_s
            began_s = time.monotonic()
            at_once = await asyncio.gather(*(ask(llm, prompt, WRITTEN_TOKENS) for prompt in prompts))
            often, longer_s = (llm.load().preemptions or 0) - never, time.monotonic() - began_s
    whole = sum(not one.error and one.text == other.text for one, other in zip(alone, at_once, strict=True))
    times = f"{never} and {often} taken back, {took_s:.1f} s and {longer_s:.1f} s"
    return f"{whole} of {PRESSED} whole and the same, {times}"


async def fp8() -> str:
    """Compare a cache in FP8 with one in float32: the same responses, and the tokens that fit."""
    found = []
    for kind in ("auto", "fp8"):
        try:
            sizes = {"max_model_len": 2048, "kv_cache_gib": 0.1, "max_num_seqs": 8}
            async with running(CHECKPOINT, kv_cache_dtype=kind, **sizes) as llm:
                cache = llm.process.current.engine.vllm_config.cache_config
                began_s = time.monotonic()
                texts = [await said(llm, request) for request in asked()]
                found.append((texts, cache.num_gpu_blocks, time.monotonic() - began_s))
        except LlmError as error:
            return f"refused: {error}"
    (plain, blocks, took_s), (packed, more, other_s) = found
    same = sum(one == other for one, other in zip(plain, packed, strict=True))
    return f"{same} of {QUESTIONS} the same, {blocks} blocks and {more}, {took_s:.2f} s and {other_s:.2f} s"


async def window() -> str:
    """The part of the cache that a prompt of 4,000 tokens takes, with a window of 512 tokens and without."""
    found = []
    for size in (None, 512):
        with tempfile.TemporaryDirectory() as folder:
            model = write_model(replace(SMALL, window=size), Path(folder))
            sizes = {"max_model_len": 6000, "kv_cache_gib": 0.2, "max_num_seqs": 4, "load_format": "dummy"}
            async with running(str(model), max_num_batched_tokens=512, **sizes) as llm:
                request = Request((Message("user", words(4000, Random(1))),), max_tokens=200)
                async with aclosing(llm.generate(request)) as deltas:
                    for _ in range(30):
                        await anext(deltas)
                    found.append(llm.load().cache_usage or 0.0)
    return f"{found[0]:.1%} of the cache without, {found[1]:.1%} with"


async def offload() -> str:
    """Restore an evicted prompt from the machine's memory, and check that the response is the same; on a CPU
    vLLM refuses that, so print its message (bypassing our own check). Then restore it from files, by the one
    connector that runs on a CPU too.
    """
    sizes: dict[str, Any] = {"max_model_len": 2048, "kv_cache_gib": 0.1, "max_num_seqs": 2}
    try:
        async with running(CHECKPOINT, engine_args={"kv_offloading_size": 0.5}, **sizes) as llm:
            told = await evicted_between(llm)
    except LlmError as error:
        told = f"refused: {error}"
    from vllm.config import KVTransferConfig  # noqa: PLC0415 - optional

    with tempfile.TemporaryDirectory() as folder:
        place = {"shared_storage_path": folder}
        connector = KVTransferConfig(
            kv_connector="ExampleConnector", kv_role="kv_both", kv_connector_extra_config=place
        )
        async with running(CHECKPOINT, engine_args={"kv_transfer_config": connector}, **sizes) as llm:
            return f"by memory: {told}; by files: {await evicted_between(llm)}"


async def evicted_between(llm: VllmLlm) -> str:
    """A prompt twice, with nothing left of it on the device before the second time."""
    found = []
    for _ in range(2):
        stream = await ask(llm, f"{words(150, Random(1))} When is breakfast?", 40)
        found.append(f"{stream.cached} tokens cached, {stream.error or stream.text!r}")
        await llm.process.current.engine.reset_prefix_cache()
    return "; again, all evicted: ".join(found)


PARTS = {"pressure": pressure, "fp8": fp8, "window": window, "offload": offload}

if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
