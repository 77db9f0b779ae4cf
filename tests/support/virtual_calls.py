"""The callers of `bench_llm.py` on virtual time, with our gateway and scheduler or with plain vLLM."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from card_costs import Card
from llm_load.calls import LlmFigures
from llm_load.measure import Load, measure
from llm_load.replay import Replay
from llm_load.variants import LlmVariant
from virtual_vllm import StepCounts, VirtualVllmLlm

from llmcore.engine import Llm
from llmcore.engines.vllm_settings import VllmSettings
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits
from llmcore.serving.priority_engine import PriorityLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import load as load_config
from voiceagent.demo import MATERIAL
from voiceagent.evals.virtual_time import run_virtually

ROOT = Path(__file__).parents[2]
SLOTS = 128
MODEL: dict[str, Any] = {
    "model": str(ROOT / "voiceagent/demo/weights/target"),
    "max_model_len": 8192,
    "max_num_seqs": SLOTS,
    "engine_args": {"hf_overrides": {"max_position_embeddings": 8192}},
}
RANDOM_WORDS = tuple(f"w{number}" for number in range(5120, 128_000, 777))
"""Vocabulary of a model with random weights, as on the H100. The tokenizer splits each word into six other
tokens in the next prompt, so no response is found in the cache.
"""
HISTORY_TOKENS = 1200
WARM_UP = Load(calls=1, turns=2)


@dataclass(frozen=True, slots=True)
class Server:
    """A server configuration. card: the simulated GPU or CPU. settings: of vLLM. gateway: True to use our
    priority queue. prefills: True to read prompts while callers speak. paced: True to read them in steps of
    their own, as on a GPU.
    """

    name: str
    card: Card
    settings: Mapping[str, Any] = field(default_factory=dict)
    gateway: bool = True
    prefills: bool = True
    paced: bool = True


def plain_vllm(card: Card) -> Server:
    """Return vLLM's own scheduler with vLLM's own choices for a GPU of 80 GB."""
    settings = {"max_num_batched_tokens": 8192, "scheduling_policy": "fcfs"}
    return Server("plain vLLM", card, settings, gateway=False, prefills=False)


def as_shipped(card: Card) -> Server:
    """Return our gateway and scheduler with the settings of configs/gpu.toml."""
    options = load_config(ROOT / "configs/gpu.toml").llm.options
    names = ("max_num_batched_tokens", "yielding_tokens", "engine_args")
    defaults = {"max_num_batched_tokens": VllmSettings.max_num_batched_tokens}
    return Server(
        "as configured", card, defaults | {name: options[name] for name in names if name in options}
    )


def load_of(calls: int, seed: int = 1) -> Load:
    """Return a load of three turns a call, after a history as long as in the H100's table."""
    return Load(calls=calls, turns=3 * calls, history_tokens=HISTORY_TOKENS, seed=seed)


def simulate(server: Server, load: Load) -> tuple[LlmFigures, StepCounts]:
    """Return the figures of the callers and the counts of the engine's steps."""
    return run_virtually(_simulate(server, load))


async def _simulate(server: Server, load: Load) -> tuple[LlmFigures, StepCounts]:
    clock = asyncio.get_running_loop().time
    replay = Replay(Material(MATERIAL).conversations())
    settings = dict(server.settings)
    arguments = MODEL["engine_args"] | settings.pop("engine_args", {})
    vllm = VirtualVllmLlm(**(MODEL | settings | {"engine_args": arguments}))
    engine = vllm.use(server.card, RANDOM_WORDS, load.seed, knows_graphs=server.paced)
    llm: Llm = vllm
    if server.gateway:
        queue = PriorityQueue(QueueLimits(SLOTS, long_tokens=1500, max_long=1))
        llm = PriorityLlm(vllm, queue, AdmissionControl(SLOTS, 0.8, 1.0), clock)
    config = load_config(ROOT / "configs/vllm-cpu.toml")  # of the called agent
    variant = LlmVariant(server.name, config, server.prefills)
    await measure(llm, variant, WARM_UP, replay, clock=clock)
    engine.counts = StepCounts()
    figures = await measure(llm, variant, load, replay, clock=clock)
    await engine.close()
    return figures, engine.counts
