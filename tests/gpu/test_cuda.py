"""Engines on CUDA: vLLM with graphs and a KV cache in FP8, and Whisper. vLLM's tests share one engine."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from late_import import late
from llm_load.measure import Load, measure
from llm_load.replay import Replay
from llm_load.variants import llm_variants

from audio.recognizers.whisper_model import LoadedModel
from llmcore.engine import Delta, Message, Request, Usage
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import load
from voiceagent.conversation.words import words_of
from voiceagent.demo import MATERIAL
from voiceagent.demo.world import system_prompt

small_whisper = late("small_whisper")
ROOT = Path(__file__).parents[2]
QUESTION = "When is breakfast served, and until when may I come down?"

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("gpu"),
    pytest.mark.asyncio(loop_scope="session"),
]


async def read(llm: VllmLlm, question: str, **options: int) -> list[Delta]:
    messages = (Message("system", system_prompt()), Message("user", question))
    async with aclosing(llm.generate(Request(messages, **options))) as deltas:
        return [delta async for delta in deltas]


def usage(deltas: list[Delta]) -> Usage:
    found = deltas[-1].usage
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("question", "facts"),
    [("When is breakfast?", ["seven", "ten thirty"]), ("How much is breakfast?", ["fifteen"])],
)
async def test_answers_hold_the_facts_of_the_prompt(engine: VllmLlm, question: str, facts: list[str]) -> None:
    said = "".join(delta.text for delta in await read(engine, question, max_tokens=60))
    assert all(fact in said.lower() for fact in facts), said


async def test_repeated_prompt_is_read_from_the_cache(engine: VllmLlm) -> None:
    first, second = [usage(await read(engine, f"{QUESTION} " * 8, max_tokens=20)) for _ in range(2)]
    assert second.cached_tokens > first.cached_tokens
    assert second.prompt_tokens - second.cached_tokens <= 32
    assert second.completion_tokens == first.completion_tokens


async def test_prefill_leaves_only_the_rest_of_the_prompt_to_read(engine: VllmLlm) -> None:
    words = f"I have a question. {QUESTION} " * 8
    system = Message("system", system_prompt())
    await engine.prefill(Request((system, Message("user", words)), priority_class="prefill"))
    found = usage(await read(engine, f"{words} Please.", max_tokens=4))
    assert found.prompt_tokens - found.cached_tokens < 64


async def test_cancelled_response_leaves_nothing_running(engine: VllmLlm) -> None:
    request = Request((Message("user", QUESTION),), max_tokens=400, temperature=1.0)
    async with aclosing(engine.generate(request)) as deltas:
        await anext(deltas)
        assert engine.running == 1
    assert engine.running == 0


async def test_bench_of_calls_has_no_failed_turn(engine: VllmLlm) -> None:
    config = load(ROOT / "configs/vllm-cpu.toml")
    (variant,) = llm_variants(config, ())
    replay = Replay(Material(MATERIAL).conversations())
    figures = await measure(engine, variant, Load(calls=4, turns=12), replay)
    assert (figures.turns, figures.failed) == (12, [])
    assert figures.cached > figures.prompt / 2


async def test_whisper_writes_what_was_said(device: str) -> None:
    model = str(ROOT / "tests/material/small_whisper")
    kind = "int8" if device == "cpu" else "float16"
    whisper = LoadedModel(model, device, kind, ("en",), None, True, 1, 1)
    spoken = next(iter(await small_whisper.speak("en-us", 165)))
    quiet = np.zeros(4_000, np.int16)
    sound = np.concatenate([quiet, spoken.sound, quiet])
    segments = await asyncio.to_thread(whisper.decode, sound, "", Event())
    assert words_of(" ".join(segment.text for segment in segments)) == words_of(spoken.text)
