"""Settings that the device does not support, found before vLLM starts, with advice.

vLLM itself would report most of them seconds later, in a traceback in its own process's log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmcore.engines.vllm_settings import VllmSettings

FP8_CACHE = (8, 9)
"""CUDA compute capability from which attention supports a cache in FP8: Ada, Hopper, Blackwell."""
MIN_CAPABILITY = {"fp8": (7, 5), "awq_marlin": (7, 5), "compressed-tensors": (7, 0)}
"""The same for weights, from the classes of vLLM's `quantization` package."""
DRAFTS = ("draft_model", "eagle", "eagle3", "medusa", "mlp_speculator")
"""Methods with a draft model."""
ALWAYS_RUN_DRAFTS = ("draft_model", "eagle", "eagle3", "mtp")
"""Methods whose draft vLLM's second model runner runs in every step, even without proposals."""
SECOND_RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
"""vLLM's variable: "0" selects its first model runner, "1" its second."""
CPU_BACKENDS = ("CPU_ATTN", "CPU_MLA")


@dataclass(frozen=True, slots=True)
class Device:
    """Hardware and packages of vLLM. gpus: of this machine; 0 is a CPU. capability: CUDA compute capability;
    None without CUDA. packages: the installed ones of `NEEDED`.
    """

    gpus: int = 0
    capability: tuple[int, int] | None = None
    packages: frozenset[str] = frozenset()


NEEDED = {"suffix": "arctic_inference"}
"""Packages besides vLLM, by the speculative method that needs them."""


def misfits(settings: VllmSettings, device: Device) -> Iterator[str]:
    """Yield a sentence for each setting that this device does not support.

    Args:
        settings: of the engine.
        device: to run it on.
    """
    yield from _speculation(settings, device)
    if settings.max_step_ms is not None and not (
        settings.scheduling_policy == "priority" and settings.enable_chunked_prefill
    ):
        yield 'max_step_ms needs scheduling_policy = "priority" and enable_chunked_prefill = true'
    if device.gpus:
        yield from _on_gpus(settings, device)
    else:
        yield from _on_cpu(settings)


def draft_cost_warning(settings: VllmSettings) -> str:
    """Return a warning about the draft's cost on vLLM's second model runner; "" if it does not apply.

    On GPUs vLLM 0.24 selects that runner for Llama, Mistral, Qwen3 and some mixtures of experts, with the
    methods eagle, eagle3 and mtp; 0.32 for all models, and with draft_model and ngram too
    (`use_v2_model_runner` of its config/vllm.py). It requires Triton: on a CPU without it vLLM selects the
    first.
    """
    method = (settings.speculative or {}).get("method")
    if method not in ALWAYS_RUN_DRAFTS or settings.scheduling_policy != "priority":
        return ""
    return (
        f"speculative.method {method!r}: on vLLM's second model runner the draft costs time also in "
        f"responses that it is left out of; {SECOND_RUNNER}=0 in the environment takes the first"
    )


def _on_gpus(settings: VllmSettings, device: Device) -> Iterator[str]:
    wanted = settings.tensor_parallel_size
    if wanted > device.gpus:
        yield f"tensor_parallel_size is {wanted}; allowed: at most the GPUs of this machine, {device.gpus}"
    if device.capability is None:
        return
    has = ".".join(map(str, device.capability))
    if settings.kv_cache_dtype.startswith("fp8") and device.capability < FP8_CACHE:
        yield (
            f"kv_cache_dtype is {settings.kv_cache_dtype!r}, which GPUs from compute capability 8.9 on have; "
            f'this one has {has}: take "auto"'
        )
    minimum = MIN_CAPABILITY.get(settings.quantization or "", (0, 0))
    if device.capability < minimum:
        yield (
            f"quantization is {settings.quantization!r}, which needs compute capability "
            f"{minimum[0]}.{minimum[1]}; this GPU has {has}: take another kind, or a checkpoint without"
        )


def _on_cpu(settings: VllmSettings) -> Iterator[str]:
    if settings.kv_offload_gib is not None:
        yield "kv_offload_gib is for GPUs: on a CPU the cache is in this memory already; leave it out"
    backend = settings.attention_backend
    if backend is not None and backend not in CPU_BACKENDS:
        yield f"attention_backend is {backend!r}; allowed on a CPU: {', '.join(CPU_BACKENDS)}, or left out"
    if settings.speculative and settings.speculative.get("method") == "ngram_gpu":
        yield 'speculative.method is "ngram_gpu"; on a CPU take "ngram"'


def _speculation(settings: VllmSettings, device: Device) -> Iterator[str]:
    speculative = settings.speculative
    if speculative is None:
        return
    method = speculative.get("method")
    if method in DRAFTS and not speculative.get("model"):
        yield f"speculative.method {method!r} needs speculative.model: a folder, or a name on the model hub"
    package = NEEDED.get(method or "")
    if package is not None and package not in device.packages:
        yield (
            f"speculative.method {method!r} needs the package {package.replace('_', '-')}: "
            f'install it, or take "ngram"'
        )
