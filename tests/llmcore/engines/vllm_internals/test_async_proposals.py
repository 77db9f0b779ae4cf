"""vLLM's scheduler that chooses a step while the one before is computed, under ours, without an engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from late_import import late

from llmcore.engine import DraftUse, Message
from llmcore.engine import Request as Prompt
from llmcore.engines.vllm_marks import marks_of
from llmcore.engines.vllm_settings import VllmSettings, engine_arguments

pytestmark = pytest.mark.usefixtures("installed_vllm")
torch = late("torch")
arguments = late("vllm.engine.arg_utils")
cache_interface = late("vllm.v1.kv_cache_interface")
our_scheduler = late("llmcore.engines.vllm_internals.scheduler")
sampling_params = late("vllm.sampling_params")
structured_output = late("vllm.v1.structured_output")
vllm_request = late("vllm.v1.request")

PROMPT, PROPOSED, BLOCKS = 40, 3, 100  # tokens, tokens, blocks


@pytest.fixture(params=[False, True], ids=["first model runner", "second model runner"])
def scheduler(random_model: Path, request: pytest.FixtureRequest) -> Any:
    draft = {"method": "draft_model", "model": str(random_model), "num_speculative_tokens": PROPOSED}
    settings = VllmSettings(str(random_model), speculative=draft, enable_prefix_caching=False)
    config = arguments.AsyncEngineArgs(**engine_arguments(settings, on_cpu=True)).create_engine_config()
    config.scheduler_config.async_scheduling = True
    config.cache_config.num_gpu_blocks = BLOCKS
    spec = cache_interface.FullAttentionSpec(block_size=32, num_kv_heads=1, head_size=8, dtype=torch.float32)
    made = our_scheduler.AsyncTurnScheduler(
        vllm_config=config,
        kv_cache_config=cache_interface.KVCacheConfig(
            BLOCKS, [], [cache_interface.KVCacheGroupSpec(["layer"], spec)]
        ),
        structured_output_manager=structured_output.StructuredOutputManager(config),
        block_size=32,
        hash_block_size=32,
    )
    made.use_v2_model_runner = request.param  # which wants Triton in the configuration, and a GPU
    return made


def add(scheduler: Any, name: str, proposals: int | None) -> None:
    marks = marks_of(Prompt((Message("user", name),)), DraftUse(proposals))
    sampling = sampling_params.SamplingParams(max_tokens=50, extra_args=marks)
    scheduler.add_request(vllm_request.Request(name, [7] * PROMPT, sampling, None))


def test_room_is_made_for_proposals_only_where_they_are_wanted(scheduler: Any) -> None:
    add(scheduler, "with", None)
    add(scheduler, "without", 0)
    reading = scheduler.schedule()
    assert reading.num_spec_tokens_to_schedule == PROPOSED
    writing = scheduler.schedule()
    assert writing.num_scheduled_tokens == {"with": 1 + PROPOSED, "without": 1}
    assert writing.scheduled_spec_decode_tokens.keys() == {"with"}


def test_where_nobody_wants_proposals_the_draft_is_asked_for_none(scheduler: Any) -> None:
    add(scheduler, "without", 0)
    for tokens in (PROMPT, 1):
        step = scheduler.schedule()
        assert step.num_scheduled_tokens == {"without": tokens}
        assert step.num_spec_tokens_to_schedule == 0


def test_after_its_last_proposal_a_request_goes_on_without(scheduler: Any) -> None:
    add(scheduler, "two", 2)
    steps = [scheduler.schedule() for _ in range(4)]
    assert [step.num_scheduled_tokens["two"] for step in steps] == [PROMPT, 1 + PROPOSED, 1 + PROPOSED, 1]
    assert [step.num_spec_tokens_to_schedule for step in steps] == [PROPOSED, PROPOSED, 0, 0]
