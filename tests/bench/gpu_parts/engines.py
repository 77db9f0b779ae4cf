"""Engines of a start: opened from its settings, with the LLM that its parts ask."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from llm_load.measure import Load, measure
from llm_load.replay import Replay
from llm_load.runs import NAME, plain_vllm
from llm_load.variants import LlmVariant, for_bench, llm_variants, served_elsewhere
from prometheus_client import CollectorRegistry
from shaped_model import LLAMA_8B, TINY, device_settings, write_chat_model

from gpu_parts.plan import Size, Start
from gpu_parts.stand_in import StandInLlm
from llmcore.engine import Llm
from llmcore.engines.vllm_engine import VllmLlm
from voiceagent.bench.material import Material
from voiceagent.config.tables import Config, load
from voiceagent.demo import MATERIAL
from voiceagent.llm.config import LlmEngineConfig
from voiceagent.llm.monitor import LlmMonitor
from voiceagent.llm.stack import build_llm
from voiceagent.telemetry.llm_metrics import LlmMetrics
from voiceagent.validation.references import resolve_paths

CONFIGS = Path(__file__).parents[3] / "configs"
WARM_UP = Load(calls=1, turns=2)
MAX_RUNNING = 128
"""Of the server under test: its 100 calls, and prefill for them."""


@dataclass
class Started:
    """Running engines. llm, variant: for loads of `bench_llm.py`. engines: those with the demo's model, by
    name. folder: for results that a later start reads.
    """

    folder: Path
    replay: Replay = field(default_factory=lambda: Replay(Material(MATERIAL).conversations()))
    llm: Llm | None = None
    variant: LlmVariant | None = None
    engines: dict[str, VllmLlm] = field(default_factory=dict)

    @property
    def served(self) -> tuple[Llm, LlmVariant]:
        """The LLM and its variant of a start that has them."""
        if self.llm is None or self.variant is None:
            raise LookupError("this start has no LLM for loads")
        return self.llm, self.variant


def write_model(folder: Path, size: Size) -> Path:
    """Write a checkpoint without weights, of the shape of Llama 3.1 8B or a tiny one; return its folder."""
    return write_chat_model(LLAMA_8B if size == "gpu" else TINY, folder / "model")


def server_config(model: Path, settings: Mapping[str, Any], size: Size) -> Config:
    """Return configs/gpu.toml with this model, more calls and these settings; on a CPU with what fits it.

    A setting of None is left out.
    """
    shipped = load(CONFIGS / "gpu.toml")
    small = {"dtype": "float32", "kv_cache_gib": 0.25, "max_model_len": 4096, "engine_args": None}
    small |= {"quantization": None, "kv_cache_dtype": None, "enforce_eager": None}
    options = shipped.llm.options | {
        "model": str(model),
        "load_format": "dummy",
        "max_num_seqs": MAX_RUNNING,
        "gpu_memory_utilization": 0.85,
    }
    options |= settings
    if size != "gpu":
        options |= small
        options["max_num_batched_tokens"] = 4096 if settings.get("enable_chunked_prefill") is False else 512
        options["yielding_tokens"] = 128
    table = {"engine": "vllm"} | {name: value for name, value in options.items() if value is not None}
    if size == "stand-in":
        table["engine"] = "gpu_parts.stand_in:StandInLlm"
    demo = load(CONFIGS / "demo.toml")
    changes = {
        "llm": LlmEngineConfig.model_validate(table),
        "priority": shipped.priority.model_copy(update={"max_running": MAX_RUNNING}),
        "agent": shipped.agent.model_copy(update={"instructions": demo.instructions()}),
    }
    return for_bench(shipped.model_copy(update=changes))


def demo_settings(settings: Mapping[str, Any], size: Size) -> dict[str, Any]:
    """Return the settings of an engine with the demo's model, which shares its device."""
    shipped = load(CONFIGS / "vllm-cpu.toml")
    options = shipped.llm.options | dict(settings)
    if size == "gpu":
        options |= device_settings()
    else:
        options.pop("engine_args", None)  # offloading the cache is for GPUs
    return cast("dict[str, Any]", resolve_paths(options, shipped.source.parent))


@asynccontextmanager
async def opened(start: Start, folder: Path, size: Size) -> AsyncIterator[Started]:
    """Start the engines of a start, and end them afterwards. Raises LlmError, CommandFailed."""
    async with AsyncExitStack() as stack:
        started = Started(folder)
        if start.kind == "demo":
            engine_class = cast("type[VllmLlm]", StandInLlm) if size == "stand-in" else VllmLlm
            for name, settings in start.engines.items():
                engine = engine_class(**demo_settings(settings, size))
                await engine.start()
                stack.push_async_callback(engine.close)
                started.engines[name] = engine
        elif start.kind != "tests":
            config = server_config(write_model(folder, size), start.engines["llm"], size)
            (variant,) = llm_variants(config, ())
            if start.kind == "plain" and size != "stand-in":
                base_url = await stack.enter_async_context(plain_vllm(config))
                variant = replace(served_elsewhere(config, base_url, NAME), name="plain vLLM")
            started.variant = variant
            started.llm = await stack.enter_async_context(_running(variant.config))
            await measure(started.llm, variant, WARM_UP, started.replay)
        yield started


@asynccontextmanager
async def _running(config: Config) -> AsyncIterator[Llm]:
    """Start a configuration's LLM with all that a server puts before it, but no speech engines."""
    llm = build_llm(
        config,
        config.source,
        LlmMonitor(LlmMetrics(CollectorRegistry())),
        ttft_budget_s=config.budget.llm_ttft_ms / 1000,
        max_prompt_characters=config.limits.max_prompt_characters,
    )
    try:
        await llm.start()
        yield llm
    finally:
        await llm.close()
