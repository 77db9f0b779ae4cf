from __future__ import annotations

from types import SimpleNamespace

import pytest

from llmcore.engines.vllm_fitness import Device, draft_cost_warning, misfits
from llmcore.engines.vllm_process import log_draft_cost
from llmcore.engines.vllm_settings import VllmSettings

CPU, AMPERE, HOPPER = Device(), Device(1, (8, 0)), Device(2, (9, 0))
DRAFT = {"method": "draft_model", "model": "small", "num_speculative_tokens": 3}


@pytest.mark.parametrize(
    ("device", "setting", "change"),
    [
        (HOPPER, {"tensor_parallel_size": 4}, "tensor_parallel_size is 4; allowed: at most"),
        (AMPERE, {"kv_cache_dtype": "fp8"}, 'take "auto"'),
        (Device(1, (7, 0)), {"quantization": "fp8"}, "this GPU has 7.0: take another kind"),
        (CPU, {"kv_offload_gib": 4.0}, "kv_offload_gib is for GPUs"),
        (CPU, {"attention_backend": "FLASH_ATTN"}, "allowed on a CPU: CPU_ATTN"),
        (CPU, {"speculative": {"method": "ngram_gpu"}}, 'take "ngram"'),
        (CPU, {"speculative": {"method": "draft_model"}}, "needs speculative.model"),
        (CPU, {"max_step_ms": 80.0, "scheduling_policy": "fcfs"}, 'needs scheduling_policy = "priority"'),
        (HOPPER, {"max_step_ms": 20.0, "enable_chunked_prefill": False}, "enable_chunked_prefill = true"),
        (HOPPER, {"speculative": {"method": "suffix"}}, "needs the package arctic-inference"),
    ],
)
def test_a_setting_beyond_the_device_is_named_with_what_to_change(device, setting, change):
    (found,) = misfits(VllmSettings("m", **setting), device)
    assert change in found


@pytest.mark.parametrize(
    ("device", "setting"),
    [
        (CPU, {"speculative": DRAFT}),
        (AMPERE, {"quantization": "awq_marlin", "attention_backend": "FLASH_ATTN"}),
        (HOPPER, {"quantization": "fp8", "kv_cache_dtype": "fp8", "tensor_parallel_size": 2}),
        (Device(8, None), {"quantization": "fp8", "kv_offload_gib": 8.0}),
        (Device(1, (9, 0), frozenset({"arctic_inference"})), {"speculative": {"method": "suffix"}}),
    ],
)
def test_what_it_can_do_passes(device, setting):
    assert list(misfits(VllmSettings("m", **setting), device)) == []


def test_every_misfit_is_reported_at_once():
    settings = VllmSettings("m", kv_offload_gib=1.0, attention_backend="FLASHINFER")
    assert len(list(misfits(settings, CPU))) == 2


@pytest.mark.parametrize(
    "setting",
    [{}, {"speculative": {"method": "suffix"}}, {"speculative": DRAFT, "scheduling_policy": "fcfs"}],
)
def test_without_a_draft_that_is_told_for_whom_to_propose_the_model_runner_matters_not(setting):
    assert draft_cost_warning(VllmSettings("m", **setting)) == ""


@pytest.mark.parametrize(("second", "lines"), [(True, 1), (False, 0)])
def test_a_draft_on_the_second_model_runner_is_warned_of_with_the_way_out(caplog, second, lines):
    log_draft_cost(VllmSettings("m", speculative=DRAFT), SimpleNamespace(use_v2_model_runner=second))
    assert [("VLLM_USE_V2_MODEL_RUNNER=0" in text) for text in caplog.messages] == [True] * lines
