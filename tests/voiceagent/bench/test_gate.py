from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_material import write_material

from voiceagent.bench.gate import Baseline, regressed
from voiceagent.cli.main import main
from voiceagent.validation.errors import CommandFailed

ROOT = Path(__file__).parents[3]
DEMO = str(ROOT / "configs/demo.toml")
ROWS = {"right answers %": 96.0, "TTFT p95 ms": 80.0}


def test_rows_within_their_limits_pass():
    limits = Baseline(min={"right answers %": 96.0}, max={"TTFT p95 ms": 80.0})
    assert regressed(ROWS, limits) == []


def test_the_rows_beyond_their_limits_are_named_with_both_figures():
    limits = Baseline(min={"right answers %": 97.0}, max={"TTFT p95 ms": 79.0})
    assert regressed(ROWS, limits) == [
        "right answers % is 96.0, at least 97.0 is wanted",
        "TTFT p95 ms is 80.0, at most 79.0 is wanted",
    ]


def test_a_limit_on_no_row_is_refused_with_the_rows_there_are():
    with pytest.raises(CommandFailed, match="'tokens'; allowed: right answers %, TTFT p95 ms"):
        regressed(ROWS, Baseline(max={"tokens": 1.0}))


@pytest.mark.parametrize(("right", "status"), [(50, 0), (100.1, 1)])
def test_the_gate_of_the_demo_opens_and_closes(tmp_path, capsys, right, status):
    baseline = tmp_path / "gate.json"
    baseline.write_text(json.dumps({"min": {"right answers %": right}}))
    assert main(["gate", "--config", DEMO, "--baseline", str(baseline), "--questions", "12"]) == status
    assert ("right answers % is" in capsys.readouterr().err) == bool(status)


def test_the_gate_asks_the_questions_of_the_material_it_is_given(tmp_path, capsys):
    """The demo's model knows nothing of a shop."""
    material = write_material(tmp_path / "shop")
    baseline = tmp_path / "gate.json"
    baseline.write_text(json.dumps({"min": {"right answers %": 50}}))
    options = ["--baseline", str(baseline), "--material", str(material)]
    assert main(["gate", "--config", DEMO, *options]) == 1
    assert "right answers % is 0.0" in capsys.readouterr().err
    (material / "labelled.jsonl").unlink()
    assert main(["gate", "--config", DEMO, *options]) == 1
    assert "shop: no labelled.jsonl; a folder of material has" in capsys.readouterr().err


def test_a_baseline_that_is_none_is_refused(tmp_path, capsys):
    assert main(["gate", "--config", DEMO, "--baseline", str(tmp_path / "none.json")]) == 1
    assert "none.json: cannot be read as JSON" in capsys.readouterr().err


def test_the_limits_that_come_with_the_repository_can_be_read():
    assert json.loads((ROOT / "tests/bench/gate.json").read_text()).keys() == {"min", "max"}
