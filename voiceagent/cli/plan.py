"""`voiceagent plan`: estimates the hardware for concurrent calls, from figures with their sources."""

from __future__ import annotations

import math
from dataclasses import dataclass

from voiceagent.validation.errors import CommandFailed

GB = 1e9


@dataclass(frozen=True, slots=True)
class Model:
    """A model by its card: parameters, and the shape of its KV cache."""

    parameters: float
    layers: int
    kv_heads: int
    head_size: int

    def kv_bytes(self, bytes_each: int) -> int:
        """Return the size of a token's keys and values, with `bytes_each` bytes a number."""
        return 2 * self.layers * self.kv_heads * self.head_size * bytes_each


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU by its data sheet: memory, bandwidth in bytes a second, dense BF16 operations a second."""

    memory_bytes: float
    bandwidth: float
    flops: float


MODELS = {
    "qwen2.5-0.5b": Model(0.49e9, 24, 2, 64),
    "llama-3.1-8b": Model(8.03e9, 32, 8, 128),
    "llama-3.1-70b": Model(70.6e9, 80, 8, 128),
}
GPUS = {
    "l4": Gpu(24 * GB, 0.30e12, 121e12),
    "h100": Gpu(80 * GB, 3.35e12, 989e12),
    "h200": Gpu(141 * GB, 4.8e12, 989e12),
}
TURN_S = 12.0
"""Time between two LLM requests of a call."""
REPLY_TOKENS, NEW_TOKENS, CONTEXT_TOKENS = 40, 150, 3_000
"""Tokens of an answer; uncached tokens of a prompt; tokens that a call keeps in the cache."""
MAX_TOKEN_S = 0.02
"""Maximum time per token. Speech needs 3 tokens a second; this yields a first sentence in half a second."""
MEMORY_SHARE = 0.9
"""Usable share of the memory, vLLM's default; 2 GB of that are for activations."""
MAX_PREFILL_SHARE = 0.5
"""Maximum share of time a replica spends on prompts; beyond it turns wait for each other."""
COMPUTE_SHARE, BANDWIDTH_SHARE = 0.17, 0.56
"""Shares of a GPU's operations and bandwidth that are reached: an H100, 8 B in FP8, vLLM 0.24 (2026-11-26):
100 prompts of 500 tokens took 2.3 s while answers were generated; a single answer took 4.3 ms a token.
"""
CALLS_A_CORE = 100
"""One core carried them with waits of 351 ms at p95, and a third of it idle (fixed engines, 2026-11-30)."""
CPU_S_A_MINUTE = 0.41
"""CPU seconds a call-minute, from the same measurement, in the slowest of its hours."""
WIRE_KBPS = {"webrtc": 54, "twilio": 128, "realtime": 540}
"""Kilobits a second in each direction, by the protocols' arithmetic: Opus at 32 kb/s in RTP, UDP and IP;
mu-law in base64 and JSON; PCM at 24 kHz in the same.
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """Estimate.

    weights_bytes: of a replica. kv_bytes: of a call. by: replicas needed for memory, reading and writing.
    step_s: seconds a token of an answer at full load.
    """

    weights_bytes: float
    kv_bytes: float
    by: dict[str, int]
    gateway_cores: int
    step_s: float

    @property
    def replicas(self) -> int:
        """Number of replicas, one GPU each, with one in reserve that takes over a lost replica's calls."""
        return max(self.by.values()) + 1


def plan(calls: int, model: Model, gpu: Gpu, bytes_each: int) -> Plan:
    """Return the estimate for `calls` concurrent calls. bytes_each: of a weight and of a cached number, 1 or
    2.

    Raises CommandFailed if the model does not fit the GPU, or is too slow on it for one call.
    """
    weights = model.parameters * bytes_each
    kv = CONTEXT_TOKENS * model.kv_bytes(bytes_each)
    room = MEMORY_SHARE * gpu.memory_bytes - 2 * GB - weights
    if room < kv:
        need = (weights + kv + 2 * GB) / MEMORY_SHARE / GB
        raise CommandFailed(f"the model needs {need:.0f} GB; a GPU has {gpu.memory_bytes / GB:.0f}")
    prompt_tokens_a_second = 2 / bytes_each * COMPUTE_SHARE * gpu.flops / (2 * model.parameters)
    step = (weights / BANDWIDTH_SHARE / gpu.bandwidth, kv / BANDWIDTH_SHARE / gpu.bandwidth)
    answering = (MAX_TOKEN_S - step[0]) / step[1]
    if answering < 1:
        raise CommandFailed(f"a token takes {1000 * step[0]:.0f} ms there, at most {1000 * MAX_TOKEN_S:.0f}")
    answering_share = REPLY_TOKENS * MAX_TOKEN_S / TURN_S
    by = {
        "memory": math.ceil(calls / (room // kv)),
        "reading": math.ceil(calls * NEW_TOKENS / TURN_S / (MAX_PREFILL_SHARE * prompt_tokens_a_second)),
        "writing": math.ceil(calls * answering_share / answering),
    }
    step_s = step[0] + step[1] * answering_share * calls / max(by.values())
    return Plan(weights, kv, by, math.ceil(calls / CALLS_A_CORE), step_s)


def print_plan(
    calls: int, model: str, gpu: str, fp8: bool, gpu_hour: float | None, core_hour: float | None
) -> None:
    """Print the estimate. gpu_hour, core_hour: prices; without both no cost. Raises CommandFailed."""
    if calls < 1:
        raise CommandFailed(f"--calls {calls}: allowed: 1 or more")
    for option, price in (("--gpu-hour", gpu_hour), ("--core-hour", core_hour)):
        if price is not None and not 0 <= price < math.inf:
            raise CommandFailed(f"{option} {price:g}: allowed: a price, 0 or more")
    made = plan(calls, MODELS[model], GPUS[gpu], 1 if fp8 else 2)
    rows = [
        ("weights a replica", f"{made.weights_bytes / GB:.1f} GB"),
        ("KV cache a call", f"{made.kv_bytes / 1e6:.0f} MB for {CONTEXT_TOKENS} tokens"),
        ("replicas", f"{made.replicas} {gpu}, one in reserve; for " + _each(made.by)),
        ("a token of an answer", f"{1000 * made.step_s:.1f} ms"),
        ("cores of gateways", f"{made.gateway_cores}, without engines for speech"),
        ("bandwidth each way", _each({name: _bits(calls * kbps) for name, kbps in WIRE_KBPS.items()})),
    ]
    if gpu_hour is not None and core_hour is not None:
        cost = (made.replicas * gpu_hour + made.gateway_cores * core_hour) / 60 / calls
        rows.append(("cost a call-minute", f"{cost:.6f} while all {calls} go on"))
    rows += [
        (
            "measured",
            f"2026-11-30, one core: {CALLS_A_CORE} calls, {CPU_S_A_MINUTE} CPU s a call-minute",
        ),
        (
            "",
            f"2026-11-26, an H100 in FP8: {COMPUTE_SHARE:.0%} of its operations, "
            f"{BANDWIDTH_SHARE:.0%} of its bandwidth",
        ),
        ("not measured", "other GPUs and BF16: the same parts of what data sheets say"),
        ("assumed of calls", f"{TURN_S:.0f} s a turn, {NEW_TOKENS} tokens read and {REPLY_TOKENS} written"),
    ]
    for name, text in rows:
        print(f"{name:22}{text}")


def _bits(kbps: int) -> str:
    return f"{kbps / 1e6:.1f} Gb/s" if kbps >= 1e6 else f"{kbps / 1e3:.1f} Mb/s"


def _each(values: dict[str, int] | dict[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
