from __future__ import annotations

from pathlib import Path

import pytest
from llm_load.variants import for_bench, llm_variants, parse_techniques, served_elsewhere
from speculating_config import speculating_config

from voiceagent.bench.gate.load import PATIENCE_S
from voiceagent.config.tables import Config, load
from voiceagent.validation.errors import CommandFailed

CONFIGS = Path(__file__).parents[3] / "configs"
VLLM, DEMO = load(CONFIGS / "vllm-cpu.toml"), load(CONFIGS / "demo.toml")


@pytest.fixture
def drafted(tmp_path: Path) -> Config:
    return speculating_config(tmp_path)


def test_the_configuration_comes_first_then_one_variant_a_technique(drafted):
    variants = llm_variants(drafted, parse_techniques("prefix_caching, speculation,prefill_while_speaking"))
    assert [variant.name for variant in variants] == [
        "as configured", "prefix_caching off", "speculation off", "draft left out",
        "prefill_while_speaking off",
    ]  # fmt: skip
    assert variants[0].config is drafted
    assert [variant.prefill_while_speaking for variant in variants] == [True, True, True, True, False]
    assert variants[1].config.llm.options["enable_prefix_caching"] is False
    assert "speculative" not in variants[2].config.llm.options


def test_what_is_late_is_no_failure():
    timeouts = for_bench(VLLM).timeouts
    assert (timeouts.first_token_s, timeouts.token_s) == (PATIENCE_S, PATIENCE_S)


def test_without_policies_requests_go_to_the_engine_as_they_come():
    (_, off) = llm_variants(VLLM, ("policies",))
    assert (off.name, off.prefill_while_speaking) == ("policies off", False)
    assert off.config.llm.options == VLLM.llm.options | {"scheduling_policy": "fcfs"}
    assert off.config.priority.max_running > 1000


def test_all_else_stays_as_it_is():
    (_, off) = llm_variants(DEMO, ("prefix_caching",))
    assert off.config.llm.options == DEMO.llm.options | {"kept_tokens": 0}
    assert off.config.source == DEMO.source


def test_speculation_is_shown_where_it_loses_too(drafted):
    variants = llm_variants(drafted, ("speculation",), bad_draft=Path("/bad"))
    left_out, bad, always = (variant.config for variant in variants[2:])
    assert [variant.name for variant in variants[2:]] == ["draft left out", "bad draft", "bad draft, always"]
    assert left_out.speculation.max_streams == 0
    assert left_out.llm == drafted.llm
    assert bad.speculation == drafted.speculation
    assert bad.llm.options["speculative"] == drafted.llm.options["speculative"] | {"model": "/bad"}
    assert always.llm == bad.llm
    assert always.speculation.min_acceptance == 0


def test_without_chunked_prefill_a_step_can_hold_the_longest_prompt():
    (_, off) = llm_variants(VLLM, ("chunked_prefill",))
    assert off.config.llm.options["max_num_batched_tokens"] == VLLM.llm.options["max_model_len"]


@pytest.mark.parametrize(
    ("config", "technique", "named"),
    [
        (DEMO, "speculation", "'ctranslate2' cannot do without speculation; these can: vllm"),
        (VLLM, "magic", "'magic' is no technique of the LLM; allowed: prefix_caching"),
    ],
)
def test_what_cannot_be_turned_off_is_refused_by_name(config, technique, named):
    with pytest.raises(CommandFailed, match=named):
        llm_variants(config, parse_techniques(technique))


def test_the_llm_is_measured_without_what_would_hide_its_failures():
    config = for_bench(VLLM)
    assert (config.fallback, config.small_llm) == (None, None)
    assert config.llm == VLLM.llm


def test_weights_may_be_left_out_where_the_engine_is_vllm():
    assert for_bench(VLLM, "dummy").llm.options == VLLM.llm.options | {"load_format": "dummy"}
    with pytest.raises(CommandFailed, match="--load-format is for the engine 'vllm'; that of"):
        for_bench(DEMO, "dummy")


def test_the_baseline_is_a_plain_server_without_what_is_ours():
    variant = served_elsewhere(VLLM, "http://127.0.0.1:8000/v1", "m")
    assert (variant.config.llm.engine, variant.prefill_while_speaking) == ("openai", False)
    assert variant.config.priority.max_running > VLLM.priority.max_running
