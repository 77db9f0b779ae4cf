"""vLLM's own scheduler under ours, without an engine: the model writes the same token whenever one is due."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

from late_import import late

from llmcore.engine import Message, PriorityClass
from llmcore.engine import Request as Prompt
from llmcore.engines.vllm_internals.engine import choose_scheduler
from llmcore.engines.vllm_marks import marks_of
from llmcore.engines.vllm_settings import VllmSettings, engine_arguments

torch = late("torch")
arguments = late("vllm.engine.arg_utils")
cache_interface = late("vllm.v1.kv_cache_interface")
cache_utils = late("vllm.v1.core.kv_cache_utils")
hashing = late("vllm.utils.hashing")
outputs = late("vllm.v1.outputs")
sampling_params = late("vllm.sampling_params")
structured_output = late("vllm.v1.structured_output")
vllm_request = late("vllm.v1.request")

BLOCK_TOKENS, PIECE_TOKENS, STEP_TOKENS, SLOTS = 32, 128, 512, 3

Computed = dict[str, int]
"""What a step computes: tokens by the name of the request."""


def vllm_config(model: Path, **settings: Any) -> Any:
    """vLLM's own, made from ours."""
    ours = VllmSettings(
        str(model),
        max_num_batched_tokens=STEP_TOKENS,
        yielding_tokens=PIECE_TOKENS,
        max_num_seqs=SLOTS,
        **settings,
    )
    made = arguments.AsyncEngineArgs(**engine_arguments(ours, on_cpu=True)).create_engine_config()
    choose_scheduler(made.scheduler_config)
    return made


def new_scheduler(config: Any, blocks: int, block_tokens: int = BLOCK_TOKENS) -> Any:
    """Return the scheduler that a configuration names, with a KV cache of `blocks` blocks for one layer."""
    config = copy(config)
    config.scheduler_config, config.cache_config = copy(config.scheduler_config), copy(config.cache_config)
    config.cache_config.num_gpu_blocks = blocks
    spec = cache_interface.FullAttentionSpec(
        block_size=block_tokens, num_kv_heads=1, head_size=8, dtype=torch.float32
    )
    cache_utils.init_none_hash(hashing.sha256)
    return config.scheduler_config.get_scheduler_cls()(
        vllm_config=config,
        kv_cache_config=cache_interface.KVCacheConfig(
            blocks, [], [cache_interface.KVCacheGroupSpec(["layer"], spec)]
        ),
        structured_output_manager=structured_output.StructuredOutputManager(config),
        block_size=block_tokens,
        hash_block_size=block_tokens,
    )


class Steps:
    """A scheduler, and a model that writes the same token whenever one is due."""

    def __init__(self, config: Any, blocks: int = 400) -> None:
        self._names: dict[str, int] = {}
        self._hasher = cache_utils.get_request_block_hasher(BLOCK_TOKENS, hashing.sha256)
        self.now_s = 0.0
        self.step_s = 0.0
        """What a step takes."""
        self.scheduler: Any = new_scheduler(config, blocks)
        self.scheduler.now_s = self.scheduler.clock = lambda: self.now_s

    def add(
        self,
        name: str,
        tokens: int,
        priority_class: PriorityClass = "turn",
        reading_s: float = 0.0,
        caller: str = "",
    ) -> None:
        """Add a request with a unique prompt of so many tokens."""
        asked = Prompt(
            (Message("user", name),), priority_class=priority_class, reading_s=reading_s, caller=caller
        )
        marks = marks_of(asked)
        sampling = sampling_params.SamplingParams(max_tokens=500, extra_args=marks)
        priority = ("turn", "long", "preemptive", "prefill").index(priority_class)
        request = vllm_request.Request(
            name,
            [self._names.setdefault(name, len(self._names))] * tokens,
            sampling,
            None,
            priority=priority,
            arrival_time=self.now_s,
            block_hasher=self._hasher,
        )
        self.scheduler.add_request(request)

    def step(self) -> Computed:
        """One step: what it computed."""
        output = self.scheduler.schedule()
        self.now_s += self.step_s
        names = list(output.num_scheduled_tokens)
        requests = [self.scheduler.requests[name] for name in names]
        tokens = [[9] if request.num_computed_tokens >= request.num_tokens else [] for request in requests]
        indices = {name: index for index, name in enumerate(names)}
        self.scheduler.update_from_output(output, outputs.ModelRunnerOutput(names, indices, tokens))
        return dict(output.num_scheduled_tokens)
