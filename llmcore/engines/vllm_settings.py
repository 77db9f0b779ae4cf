"""Settings of a vLLM engine, and their conversion to vLLM's own arguments.

No postponed annotations here: a configuration resolves the types of the keyword arguments in another module.
"""

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

GIB = 1 << 30
BATCH_BOUNDS = "llmcore_batch_bounds"
"""Key of vLLM's additional configuration with the bounds of our scheduler's steps."""
SERVER_PID = "LLMCORE_SERVER_PID"
"""Environment variable with the id of the server's process, which vLLM's processes belong to."""


@dataclass(eq=False)
class VllmSettings:
    """Settings of one engine. None leaves the choice to vLLM or, on a CPU, takes the value given below."""

    model: str
    """Directory of a Hugging Face checkpoint, or its name on the hub."""
    dtype: str = "auto"
    """Data type of weights and computation; "auto" takes the checkpoint's."""
    quantization: str | None = None
    """Quantization of the weights. "fp8" halves a 16-bit checkpoint at load time: 1.3 to 2.2 times the
    throughput, near lossless. "awq_marlin" and "compressed-tensors" are for checkpoints quantized that way,
    which None detects. Check each with a quality gate on a labelled set. On a CPU, a checkpoint with 8-bit
    activations needs `dtype` "bfloat16" or "float16": with "float32" the engine dies at the first request.
    """
    load_format: str = "auto"
    """ "dummy" creates random weights, for measurements without a download."""
    kv_cache_dtype: str = "auto"
    """ "fp8" halves the cache on GPUs that support it: for many calls or long histories."""
    kv_offload_gib: float | None = None
    """On GPUs: host memory for blocks evicted from the cache (least recently used), from where they are
    restored faster than recomputed. None drops them.
    """
    kv_cache_gib: float | None = None
    """Memory for the cache; None takes what `gpu_memory_utilization` leaves."""
    gpu_memory_utilization: float = 0.9
    """Share of the device's memory to use, 0-1; on a CPU, of the machine's."""
    max_model_len: int | None = None
    """Longest prompt and reply together, in tokens; None takes the model's own."""
    block_size: int | None = None
    """Tokens of a cache block; only whole blocks are shared. None is 32 on a CPU, as vLLM's 128 is coarse."""
    enable_prefix_caching: bool = True
    """Share the computed blocks of common prompt prefixes."""
    enable_chunked_prefill: bool = True
    """Read a long prompt in pieces, between which other replies continue."""
    max_num_batched_tokens: int = 2048
    """Tokens computed in one step: the longest such piece."""
    yielding_tokens: int = 256
    """The same for a prompt that yields to callers' prompts: a long one, or one prefilled while its caller
    still speaks. A caller who arrives meanwhile waits for one piece. Without effect with "fcfs", where no
    prompt yields.
    """
    max_num_seqs: int = 32
    """Replies computed at once; more wait."""
    max_step_ms: float | None = None
    """99th percentile that the time of a step is held to while replies are written. Longer steps reduce
    prefill, down to `yielding_tokens`, and then concurrent replies, down to a quarter of `max_num_seqs`. None
    keeps both as set.
    """
    scheduling_policy: Literal["priority", "fcfs"] = "priority"
    """Order of waiting requests: by urgency, or by arrival."""
    enforce_eager: bool | None = None
    """True disables compiled code and CUDA graphs, which shorten each step of a small model but lengthen the
    start. None is True on a CPU. There, compiled, the demo's model needs 0.8 of the processor time a step,
    and starts 24 s later the first time, then 7 s.
    """
    tensor_parallel_size: int = 1
    """GPUs that share the model: for one that does not fit on a single GPU, or to shorten each token."""
    threads: int | None = None
    """On a CPU: threads of one step. None uses each core but one, and pins a thread to each."""
    attention_backend: str | None = None
    """Attention kernels: "FLASH_ATTN", "FLASHINFER", "TRITON_ATTN", ...; None lets vLLM choose."""
    speculative: dict[str, Any] | None = None
    """vLLM's speculative_config: {method = "draft_model", model = "...", num_speculative_tokens = 4}.
    Methods: "ngram" and "suffix" propose earlier text, "draft_model" is a small model with the same
    tokenizer, "eagle3" a head trained for this very model, "mtp" the model's own.
    """
    tool_markup: Literal["hermes", "llama3_json", "mistral"] = "hermes"
    """Notation of tool calls by the model."""
    engine_args: dict[str, Any] | None = None
    """Further arguments of vLLM's AsyncEngineArgs; they take precedence."""


def engine_arguments(settings: VllmSettings, on_cpu: bool) -> dict[str, Any]:
    """Return the keyword arguments of vLLM's AsyncEngineArgs.

    Args:
        settings: of the engine.
        on_cpu: True if vLLM runs on a CPU.
    """
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
    arguments["additional_config"] = {"llmcore_server": WatchOnUnpickle(SERVER_PID)}
    if settings.max_step_ms is not None:
        arguments["additional_config"][BATCH_BOUNDS] = batch_bounds(settings, settings.max_step_ms)
    if settings.speculative is not None:
        arguments["speculative_config"] = dict(settings.speculative)  # vLLM modifies it
        arguments["worker_extension_cls"] = "llmcore.engines.vllm_internals.speculation.LeavesDraftOut"
    return arguments | (settings.engine_args or {})


class WatchOnUnpickle(str):
    """Text in the configuration that ties the engine process to the server: unpickling it starts the watch.

    It is among the first things that the engine process does. The worker's extension starts the same watch
    later; until then an engine whose server was killed would wait for five minutes.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (str(self),)


def _unpickle(text: str) -> WatchOnUnpickle:
    import_module("llmcore.engines.vllm_worker")
    return WatchOnUnpickle(text)


def batch_bounds(settings: VllmSettings, max_step_ms: float) -> dict[str, Any]:
    """Return the keyword arguments of `llmcore.policies.batch_limits.BatchBounds`, as sent to vLLM's process.

    Args:
        settings: of the engine.
        max_step_ms: bound of the step time.
    """
    return {
        "max_tokens": settings.max_num_batched_tokens,
        "min_tokens": min(settings.yielding_tokens, settings.max_num_batched_tokens),
        "max_sequences": settings.max_num_seqs,
        "min_sequences": max(1, settings.max_num_seqs // 4),
        "p99_s": max_step_ms / 1000,
    }


def thread_environment(threads: int | None) -> dict[str, str]:
    """Return the environment variables that give vLLM's processes on a CPU this many threads."""
    if threads is None:
        return {}
    return {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": str(threads)}


def set_environment() -> None:
    """Set the environment variables of vLLM and its workers; vLLM's own that are set already stay.

    Workers are spawned, as a forked child would inherit this process's threads and locks. Usage reports are
    off, and logs go to standard error, as standard output belongs to commands.
    """
    os.environ[SERVER_PID] = str(os.getpid())
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
    os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
