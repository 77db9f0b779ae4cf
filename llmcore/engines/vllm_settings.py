"""The settings of a vLLM engine, and vLLM's own arguments made from them.

No postponed annotations here: a configuration reads the types of the keyword arguments in another module.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

GIB = 1 << 30
BATCH_BOUNDS = "llmcore_batch_bounds"
"""Key of vLLM's additional configuration, from which our scheduler reads what its steps keep to."""
SERVER_PID = "LLMCORE_SERVER_PID"
"""Environment variable with the id of the process that vLLM's processes belong to."""


@dataclass(eq=False)
class VllmSettings:
    """One engine. None leaves the choice to vLLM, or, on a CPU, makes the one that is named."""

    model: str
    """A directory with a Hugging Face checkpoint, or the name of one on the hub."""
    dtype: str = "auto"
    """Of weights and computing; "auto" is the checkpoint's."""
    quantization: str | None = None
    """Of weights: "fp8" halves a 16-bit checkpoint as it is loaded, 1.3 to 2.2 times the throughput, near
    lossless; "awq_marlin" and "compressed-tensors" are for checkpoints that are quantized so, which None
    finds by itself. Each wants a quality gate on a labelled set. On a CPU one with 8-bit activations wants
    `dtype` "bfloat16" or "float16": in "float32" it dies at the first request."""
    load_format: str = "auto"
    """The value "dummy" makes random weights, for figures without a download."""
    kv_cache_dtype: str = "auto"
    """The value "fp8" halves the cache on GPUs that have it: for many calls, or long histories."""
    kv_offload_gib: float | None = None
    """On GPUs: memory of the machine for blocks that the cache must give up (the least recently used), from
    where they come back sooner than they are computed. None drops them."""
    kv_cache_gib: float | None = None
    """Memory for the cache; None takes what `gpu_memory_utilization` leaves."""
    gpu_memory_utilization: float = 0.9
    """Part of the device's memory that may be used, 0-1; on a CPU, of the machine's."""
    max_model_len: int | None = None
    """Longest prompt and reply together, tokens; None is the model's own."""
    block_size: int | None = None
    """Tokens of a cache block; only whole ones are shared. None is 32 on a CPU: vLLM's 128 is coarse."""
    enable_prefix_caching: bool = True
    """Prompts share the computed blocks of their common beginning."""
    enable_chunked_prefill: bool = True
    """A long prompt is read in pieces, between which other replies go on."""
    max_num_batched_tokens: int = 2048
    """Tokens computed in one step: such a piece is no longer."""
    yielding_tokens: int = 256
    """Such a piece of a prompt that yields to those of callers: a long one, or one that is prefilled while
    its caller still speaks. A caller who comes in between waits for one piece. Not with "fcfs", where nobody
    yields."""
    max_num_seqs: int = 32
    """Replies computed at once; more wait."""
    max_step_ms: float | None = None
    """What 99 of 100 steps in which replies are written may take. Else they read fewer tokens of prompts,
    down to `yielding_tokens`, and compute fewer replies, down to a quarter of `max_num_seqs`, until there is
    room. None leaves both as they are set."""
    scheduling_policy: Literal["priority", "fcfs"] = "priority"
    """Who waits is let in by urgency, or in order of arrival."""
    enforce_eager: bool | None = None
    """No compiled code and CUDA graphs, which shorten each step where a token takes little to compute, and
    make the start longer; None is true on a CPU. There, compiled, the demo's model takes 0.8 of the processor
    a step, and starts 24 s later the first time, then 7."""
    tensor_parallel_size: int = 1
    """GPUs that share the model: for one that does not fit on one, or to shorten each token."""
    threads: int | None = None
    """On a CPU: threads of one step; None takes each core but one, and ties a thread to each."""
    attention_backend: str | None = None
    """The kernels of attention: "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", ...; None lets vLLM choose."""
    speculative: dict[str, Any] | None = None
    """vLLM's speculative_config: {method = "draft_model", model = "...", num_speculative_tokens = 4}.
    Methods: "ngram" and "suffix" propose what stood before, "draft_model" is a small model with the same
    tokenizer, "eagle3" a head trained for this very model, "mtp" one that the model has itself."""
    tool_markup: Literal["hermes", "llama3_json", "mistral"] = "hermes"
    """How the model writes tool calls."""
    engine_args: dict[str, Any] | None = None
    """More of vLLM's AsyncEngineArgs; they come last."""


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
    if settings.attention_backend is not None:
        arguments["attention_backend"] = settings.attention_backend
    if settings.kv_offload_gib is not None:
        arguments["kv_offloading_size"] = settings.kv_offload_gib
    arguments["enforce_eager"] = on_cpu if settings.enforce_eager is None else settings.enforce_eager
    if settings.block_size is not None or on_cpu:
        arguments["block_size"] = settings.block_size or 32
    if settings.kv_cache_gib is not None:
        arguments["kv_cache_memory_bytes"] = int(settings.kv_cache_gib * GIB)
    arguments["worker_extension_cls"] = "llmcore.engines.vllm_worker.EndsWithServer"
    if settings.scheduling_policy == "priority" and settings.enable_chunked_prefill:
        tokens = settings.yielding_tokens
        arguments["long_prefill_token_threshold"] = min(tokens, settings.max_model_len or tokens)
    arguments["additional_config"] = {"llmcore_server": EndsItsReader(SERVER_PID)}
    if settings.max_step_ms is not None:
        arguments["additional_config"][BATCH_BOUNDS] = batch_bounds(settings, settings.max_step_ms)
    if settings.speculative is not None:
        arguments["speculative_config"] = dict(settings.speculative)  # vLLM writes into it
        arguments["worker_extension_cls"] = "llmcore.engines.vllm_internals.speculation.LeavesDraftOut"
    return arguments | (settings.engine_args or {})


class EndsItsReader(str):
    """A text of the configuration: the engine process that unpickles it, first of all, ends with the server.

    Its worker, whose extension does the same, is made later: till then the engine waits for its server, five
    minutes for one that was killed.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (str(self),)


def _unpickled(text: str) -> EndsItsReader:
    import_module("llmcore.engines.vllm_worker")
    return EndsItsReader(text)


def batch_bounds(settings: VllmSettings, max_step_ms: float) -> dict[str, Any]:
    """The keyword arguments of `llmcore.policies.batch_limits.BatchBounds`, as they go to vLLM's process."""
    return {
        "max_tokens": settings.max_num_batched_tokens,
        "min_tokens": min(settings.yielding_tokens, settings.max_num_batched_tokens),
        "max_sequences": settings.max_num_seqs,
        "min_sequences": max(1, settings.max_num_seqs // 4),
        "p99_s": max_step_ms / 1000,
    }


def thread_environment(threads: int | None) -> dict[str, str]:
    """What vLLM's processes on a CPU are to find in the environment for this many threads."""
    if threads is None:
        return {}
    return {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}


def set_environment() -> None:
    """What vLLM and its workers read from the environment; of vLLM's, what is set already stays.

    A forked child would inherit this process's threads and locks. A server reports its use to nobody, and
    standard output is for what a command prints.
    """
    os.environ[SERVER_PID] = str(os.getpid())
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
