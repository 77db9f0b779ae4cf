from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.cli.main import main
from voiceagent.cli.plan import GPUS, MODELS, plan
from voiceagent.validation.errors import CommandFailed

LLAMA, H100 = MODELS["llama-3.1-8b"], GPUS["h100"]


def test_a_token_of_llama_8b_takes_131_kb_in_bf16() -> None:
    assert LLAMA.kv_bytes(2) == 131_072


def test_fp8_halves_weights_and_cache() -> None:
    wide, narrow = plan(1000, LLAMA, H100, 2), plan(1000, LLAMA, H100, 1)
    assert (narrow.weights_bytes, narrow.kv_bytes) == (wide.weights_bytes / 2, wide.kv_bytes / 2)
    assert narrow.replicas <= wide.replicas


@given(st.integers(1, 100_000), st.integers(1, 100_000))
def test_more_calls_never_need_less(calls: int, more: int) -> None:
    small, large = plan(calls, LLAMA, H100, 2), plan(calls + more, LLAMA, H100, 2)
    assert small.replicas <= large.replicas
    assert small.gateway_cores <= large.gateway_cores


@given(st.integers(1, 100_000))
def test_all_calls_fit_in_the_memory_of_the_replicas(calls: int) -> None:
    made = plan(calls, LLAMA, H100, 2)
    taken = made.weights_bytes + made.kv_bytes * calls / made.by["memory"]
    assert taken <= 0.9 * H100.memory_bytes


def test_a_replica_is_in_reserve() -> None:
    assert plan(1, LLAMA, H100, 2).replicas == 2


def test_a_core_of_a_gateway_has_no_more_calls_than_one_was_measured_with() -> None:
    assert [plan(calls, LLAMA, H100, 2).gateway_cores for calls in (100, 101)] == [1, 2]


def test_a_model_that_does_not_fit_is_refused_with_what_it_needs() -> None:
    with pytest.raises(CommandFailed, match=r"needs 160 GB; a GPU has 80"):
        plan(1, MODELS["llama-3.1-70b"], H100, 2)


def test_a_model_that_is_too_slow_for_speech_is_refused() -> None:
    with pytest.raises(CommandFailed, match="a token takes"):
        plan(1, LLAMA, GPUS["l4"], 2)


def test_the_command_tells_what_is_measured_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--calls", "10000", "--gpu-hour", "3", "--core-hour", "0.04"]) == 0
    told = capsys.readouterr().out
    assert all(part in told for part in ("replicas", "cost a call-minute", "2026-11-30", "not measured"))


@pytest.mark.parametrize("calls", [10, 1_000, 100_000])
def test_the_page_on_clusters_has_the_figures_of_the_command(
    calls: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", "--calls", str(calls)]) == 0
    told = capsys.readouterr().out
    page = (Path(__file__).parents[3] / "docs/clusters.md").read_text()
    _, replicas, token, cores, line, _ = re.search(rf"^\| {calls} (\|.*)$", page, re.MULTILINE)[1].split("|")
    reserve, parts = replicas.strip().split("; ")
    memory, reading, writing = parts.split(", ")
    by = f"{reserve} h100, one in reserve; for memory {memory}, reading {reading}, writing {writing}"
    for row, text in {
        "replicas": by,
        "a token": token,
        "cores of": cores,
        "bandwidth": f"twilio{line}",
    }.items():
        assert text.strip() in re.search(rf"^{row}.*$", told, re.MULTILINE)[0]


def test_fewer_calls_than_one_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--calls", "0"]) == 1
    assert "--calls 0: allowed: 1 or more" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--gpu-hour", "--core-hour"])
@pytest.mark.parametrize("price", ["-1", "nan", "inf"])
def test_a_price_that_is_none_is_named(option: str, price: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--calls", "10", option, price]) == 1
    assert f"{option} {price}: allowed: a price, 0 or more" in capsys.readouterr().err
