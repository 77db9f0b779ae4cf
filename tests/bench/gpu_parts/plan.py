"""The plan of `gpu_proof.py`: engine starts in the order of their worth, and the parts measured on each.

A start of vLLM with CUDA graphs takes longer than most parts, so all parts with the same engine settings
share one, and settings that need another start come last. Estimates are of an H100 (2026-11-28: a start with
graphs takes 86 to 116 s without compile caches); those of starts with caches are assumed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from llmcore.engines.vllm_fitness import SECOND_RUNNER

Size = Literal["gpu", "cpu", "stand-in"]
"""Of models and loads: those to be measured, a tiny model on vLLM's CPU build, or no model at all."""
Kind = Literal["server", "plain", "demo", "tests"]
"""Engines of a start: the server's LLM, vLLM's own server, engines with the demo's model, or pytest's."""
MINUTES = 20.0
"""The time in which the whole plan is to be measured on a GPU."""


@dataclass(frozen=True)
class Part:
    """A measurement. measurement: name of its function. arguments: of the function; small: those that differ
    without a GPU. estimate_s: on an H100.
    """

    name: str
    measurement: str
    estimate_s: float
    arguments: Mapping[str, Any] = field(default_factory=dict)
    small: Mapping[str, Any] = field(default_factory=dict)

    def at(self, size: Size) -> Mapping[str, Any]:
        """Return the arguments for a size."""
        return dict(self.arguments) if size == "gpu" else {**self.arguments, **self.small}


@dataclass(frozen=True)
class Start:
    """Engines that are started once, and their parts. engines: settings by name, in addition to the kind's.
    estimate_s: of the start alone.
    """

    name: str
    kind: Kind
    estimate_s: float
    parts: tuple[Part, ...]
    engines: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {"llm": {}})
    environment: Mapping[str, str] = field(default_factory=dict)

    def inputs(self, part: Part, size: Size) -> str:
        """Return what the part's figures depend on. A result with other inputs is measured again."""
        known = {"kind": self.kind, "engines": self.engines, "environment": self.environment, "size": size}
        return json.dumps(known | {"part": asdict(part) | {"estimate_s": 0}}, sort_keys=True)


def _calls(name: str, number: int, turns: int, estimate_s: float, **options: Any) -> Part:
    """A load of `bench_llm.py` with 1,200 tokens of history; small: two short calls."""
    arguments = {"calls": number, "turns": turns, "history_tokens": 1200} | options
    return Part(name, "calls", estimate_s, arguments, {"calls": 2, "turns": 2, "history_tokens": 0})


def _streams(name: str) -> Part:
    return Part(name, "streams", 15, {"numbers": (1, 16, 100)}, {"numbers": (1, 2)})


def _long_prompts(name: str) -> Part:
    return Part(name, "long_prompts", 10, {"rounds": 3}, {"rounds": 1, "long_tokens": 1000})


def _burst(name: str) -> Part:
    return Part(name, "burst", 10, {"rounds": 3}, {"rounds": 1})


_FLOOR = Part(
    "floor",
    "floor",
    15,
    {"beside": (0, 16, 64), "new_tokens": (1, 16, 64, 256), "rounds": 15, "prefix_tokens": 1200},
    {"beside": (0, 2), "new_tokens": (1, 16), "rounds": 2, "prefix_tokens": 200},
)
_SPECULATION = {"rounds": 20, "history_tokens": 1200}
_SHORT_SPECULATION = {"rounds": 1, "history_tokens": 100}
_DRAFT = {
    "method": "draft_model",
    "model": "package:voiceagent.demo/weights/draft",
    "num_speculative_tokens": 3,
}

PLAN: tuple[Start, ...] = (
    Start(
        "gateway",
        "server",
        110,
        (
            _calls("100 calls", 100, 300, 30),
            _calls("16 calls", 16, 96, 30),
            _calls("64 calls", 64, 192, 30),
            _FLOOR,
            _streams("streams"),
            _calls("16 calls, prefill while speaking off", 16, 96, 30, prefills=False),
            _calls("16 calls, nothing cached", 16, 96, 30, uncached=True),
            _long_prompts("long prompts"),
            _burst("burst"),
        ),
    ),
    Start(
        "plain vLLM",
        "plain",
        85,
        (
            _calls("100 calls, plain vLLM", 100, 300, 35),
            _calls("16 calls, plain vLLM", 16, 96, 35),
            _calls("64 calls, plain vLLM", 64, 192, 35),
        ),
    ),
    Start("tests", "tests", 50, (Part("tests", "tests", 20),)),
    Start(
        "BF16",
        "server",
        85,
        (_streams("streams, BF16"),),
        {"llm": {"quantization": None, "kv_cache_dtype": "auto"}},
    ),
    Start(
        "policies off",
        "server",
        65,
        (
            _calls("100 calls, policies off", 100, 300, 35, prefills=False),
            _long_prompts("long prompts, policies off"),
            _burst("burst, policies off"),
        ),
        {"llm": {"scheduling_policy": "fcfs"}},
    ),
    Start(
        "speculation",
        "demo",
        80,
        (Part("speculation", "speculation", 40, _SPECULATION, _SHORT_SPECULATION),),
        {"plain": {}, "drafted": {"speculative": _DRAFT}},
    ),
    # A draft is left out of responses without cost on vLLM's first model runner only.
    Start(
        "first runner",
        "demo",
        40,
        (Part("speculation, first runner", "speculation", 25, _SPECULATION, _SHORT_SPECULATION),),
        {"drafted": {"speculative": _DRAFT}},
        {SECOND_RUNNER: "0"},
    ),
    Start(
        "KV cache",
        "demo",
        75,
        (
            Part("KV cache in FP8", "fp8_cache", 10),
            Part("KV cache in the machine's memory", "offload", 5),
        ),
        {"plain": {"engine_args": {"kv_offloading_size": 0.5}}, "fp8": {"kv_cache_dtype": "fp8"}},
    ),
    Start(
        "chunked prefill off",
        "server",
        50,
        (_long_prompts("long prompts, chunked prefill off"),),
        {
            "llm": {
                "scheduling_policy": "fcfs",
                "enable_chunked_prefill": False,
                "max_num_batched_tokens": 8192,
                "engine_args": {},
            }
        },
    ),
    Start(
        "short steps",
        "server",
        55,
        (_burst("burst, steps of at most 80 ms"),),
        {"llm": {"max_step_ms": 80.0}},
    ),
)


def estimate_s(starts: Sequence[Start]) -> float:
    """Return the seconds that these starts and their parts take on an H100, as estimated."""
    return sum(start.estimate_s + sum(part.estimate_s for part in start.parts) for start in starts)


def remaining(
    starts: Sequence[Start], wanted: frozenset[str] | None, measured: frozenset[str]
) -> list[Start]:
    """Return the starts that are still needed, with their parts that are. wanted: names of parts; None for
    all.
    """
    left = []
    for start in starts:
        parts = tuple(
            part
            for part in start.parts
            if part.name not in measured and (wanted is None or part.name in wanted)
        )
        if parts:
            left.append(replace(start, parts=parts))
    return left
