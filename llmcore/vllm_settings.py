"""The settings of a vLLM engine, and vLLM's own arguments made from them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

GIB = 1 << 30
SERVER_PID = "LLMCORE_SERVER_PID"
"""Environment variable with the id of the process that vLLM's processes belong to."""


@dataclass(eq=False)
class VllmSettings:
    """One engine. What is None is chosen by the machine: vLLM's own default, or, on a CPU, what is said
    below.

    model: a directory with a Hugging Face checkpoint, or the name of one on the hub. dtype: of the weights
    and the computing; "auto" is the checkpoint's. quantization: "fp8", "awq_marlin", "compressed-tensors",
    ...; None is what the checkpoint says. load_format: "dummy" makes random weights. kv_cache_dtype: "fp8"
    halves the cache on GPUs that have it. kv_cache_gib: memory for the cache; None takes what
    `gpu_memory_utilization` (0-1, of the whole device or, on a CPU, of the memory) leaves. max_model_len:
    longest prompt and reply together, tokens. block_size: tokens of a cache block, of which only whole ones
    are shared; None is 32 on a CPU (vLLM's 128 makes hits coarse). enable_prefix_caching: prompts share the
    computed blocks of their common beginning. enable_chunked_prefill, max_num_batched_tokens: a long prompt
    is read in pieces of at most so many tokens, between which others go on. max_num_seqs: replies computed at
    once; more wait. scheduling_policy: "priority" lets the most urgent in first, "fcfs" the first come.
    enforce_eager: no compiled graphs; None is true on a CPU, where compiling takes minutes.
    tensor_parallel_size: GPUs that share the model. speculative: vLLM's speculative_config, e.g. {method =
    "draft_model", model = "...", num_speculative_tokens = 4}; {method = "ngram", ...} needs no model.
    tool_markup: how the model writes tool calls. engine_args: more of vLLM's AsyncEngineArgs.
    """

    model: str
    dtype: str = "auto"
    quantization: str | None = None
    load_format: str = "auto"
    kv_cache_dtype: str = "auto"
    kv_cache_gib: float | None = None
    gpu_memory_utilization: float = 0.9
    max_model_len: int | None = None
    block_size: int | None = None
    enable_prefix_caching: bool = True
    enable_chunked_prefill: bool = True
    max_num_batched_tokens: int = 2048
    max_num_seqs: int = 32
    scheduling_policy: Literal["priority", "fcfs"] = "priority"
    enforce_eager: bool | None = None
    tensor_parallel_size: int = 1
    speculative: dict[str, Any] | None = None
    tool_markup: Literal["hermes", "llama3_json", "mistral"] = "hermes"
    engine_args: dict[str, Any] | None = None


def engine_arguments(settings: VllmSettings, on_cpu: bool) -> dict[str, Any]:
    """The keyword arguments of vLLM's AsyncEngineArgs."""
    arguments: dict[str, Any] = {
        name: getattr(settings, name)
        for name in (
            "model",
            "dtype",
            "quantization",
            "load_format",
            "kv_cache_dtype",
            "gpu_memory_utilization",
            "max_model_len",
            "enable_prefix_caching",
            "enable_chunked_prefill",
            "max_num_batched_tokens",
            "max_num_seqs",
            "scheduling_policy",
            "tensor_parallel_size",
        )
    }
    arguments["enforce_eager"] = on_cpu if settings.enforce_eager is None else settings.enforce_eager
    if settings.block_size is not None or on_cpu:
        arguments["block_size"] = settings.block_size or 32
    if settings.kv_cache_gib is not None:
        arguments["kv_cache_memory_bytes"] = int(settings.kv_cache_gib * GIB)
    arguments["worker_extension_cls"] = "llmcore.vllm_worker.EndsWithServer"
    if settings.speculative is not None:
        arguments["speculative_config"] = dict(settings.speculative)  # vLLM writes into it
    return arguments | (settings.engine_args or {})


def set_environment() -> None:
    """What vLLM and its workers read from the environment; of vLLM's, what is set already stays.

    A forked child would inherit this process's threads and locks. A server reports its use to nobody.
    """
    os.environ[SERVER_PID] = str(os.getpid())
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
