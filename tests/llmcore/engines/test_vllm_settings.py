from __future__ import annotations

from typing import get_type_hints

import pytest

from llmcore.engine import SupportsSpeculation
from llmcore.engines.vllm_engine import VllmLlm
from llmcore.engines.vllm_settings import (
    BATCH_BOUNDS,
    GIB,
    VllmSettings,
    engine_arguments,
    thread_environment,
)
from llmcore.policies.batch_limits import BatchBounds


def test_the_types_of_the_keyword_arguments_can_be_read() -> None:
    assert get_type_hints(VllmLlm.__init__)["kv_cache_gib"] == float | None


def test_on_a_cpu_blocks_are_small_and_nothing_is_compiled() -> None:
    arguments = engine_arguments(VllmSettings("m"), on_cpu=True)
    assert (arguments["block_size"], arguments["enforce_eager"]) == (32, True)


def test_on_a_gpu_vllm_chooses_the_blocks_and_compiles() -> None:
    arguments = engine_arguments(VllmSettings("m"), on_cpu=False)
    assert "block_size" not in arguments
    assert arguments["enforce_eager"] is False


@pytest.mark.parametrize("on_cpu", [True, False])
def test_what_is_set_is_kept_on_any_device(on_cpu: bool) -> None:
    arguments = engine_arguments(VllmSettings("m", block_size=16, enforce_eager=True), on_cpu)
    assert (arguments["block_size"], arguments["enforce_eager"]) == (16, True)


def test_the_cache_is_given_in_bytes() -> None:
    assert (
        engine_arguments(VllmSettings("m", kv_cache_gib=1.5), on_cpu=True)["kv_cache_memory_bytes"]
        == GIB * 3 // 2
    )


def test_speculation_is_a_copy_that_vllm_may_change() -> None:
    speculative = {"method": "ngram", "num_speculative_tokens": 4}
    arguments = engine_arguments(VllmSettings("m", speculative=speculative), on_cpu=True)
    assert arguments["speculative_config"] == speculative
    assert arguments["speculative_config"] is not speculative
    assert arguments["worker_extension_cls"] == "llmcore.engines.vllm_internals.speculation.LeavesDraftOut"


@pytest.mark.parametrize(
    ("settings", "has_draft"),
    [
        (VllmLlm("m"), False),
        (VllmLlm("m", speculative={"method": "ngram"}), True),
        (VllmLlm("m", speculative={"method": "ngram"}, scheduling_policy="fcfs"), False),
    ],
)
def test_requests_can_be_told_apart_for_a_draft_by_our_scheduler_only(settings, has_draft) -> None:
    assert isinstance(settings, SupportsSpeculation)
    assert settings.has_draft == has_draft


def test_more_of_vllms_arguments_come_last() -> None:
    settings = VllmSettings("m", max_num_seqs=8, engine_args={"max_num_seqs": 2, "seed": 7})
    arguments = engine_arguments(settings, on_cpu=True)
    assert (arguments["max_num_seqs"], arguments["seed"]) == (2, 7)


def test_pieces_of_yielding_prompts_fit_the_longest_prompt() -> None:
    arguments = engine_arguments(VllmSettings("m", max_model_len=100, yielding_tokens=256), on_cpu=True)
    assert arguments["long_prefill_token_threshold"] == 100


def test_steps_keep_to_a_time_only_where_one_is_set() -> None:
    settings = VllmSettings("m", max_num_batched_tokens=512, yielding_tokens=128, max_num_seqs=8)
    assert BATCH_BOUNDS not in engine_arguments(settings, on_cpu=True)["additional_config"]
    settings.max_step_ms = 80.0
    bounds = engine_arguments(settings, on_cpu=True)["additional_config"][BATCH_BOUNDS]
    assert BatchBounds(**bounds) == BatchBounds(512, 128, 8, 2, 0.08)


def test_in_order_of_arrival_nobody_yields() -> None:
    assert "long_prefill_token_threshold" not in engine_arguments(
        VllmSettings("m", scheduling_policy="fcfs"), True
    )


def test_the_cache_goes_to_the_machines_memory_where_that_is_set() -> None:
    settings = VllmSettings("m", kv_offload_gib=8.0, attention_backend="FLASH_ATTN")
    arguments = engine_arguments(settings, on_cpu=False)
    assert (arguments["kv_offloading_size"], arguments["attention_backend"]) == (8.0, "FLASH_ATTN")


def test_an_unknown_tool_markup_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="hermes"):
        VllmLlm("m", tool_markup="xml")  # type: ignore[arg-type] - wrong on purpose


def test_vllm_is_told_its_threads_and_ties_none() -> None:
    assert thread_environment(3) == {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "3"}
    assert thread_environment(None) == {}
