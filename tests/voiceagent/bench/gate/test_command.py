from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench_material import write_lines, write_material

from voiceagent.bench.gate import command
from voiceagent.bench.gate.command import Plan, gate
from voiceagent.bench.gate.figures import CPU, Baseline, Figures, read_baseline
from voiceagent.cli.main import main
from voiceagent.config.tables import load
from voiceagent.demo import CT2_WEIGHTS
from voiceagent.validation.errors import CommandFailed

ROOT = Path(__file__).parents[4]
DEMO = str(ROOT / "configs/demo.toml")


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    path = tmp_path / "gate.json"
    path.write_text(json.dumps({"shares": {"right answers %": 90.0}, "times": {"ITL alone": 1.0}}))
    return path


def run(monkeypatch: pytest.MonkeyPatch, baseline: Path, *measured: Figures) -> None:
    runs = iter(measured)
    monkeypatch.setattr(command, "measure", lambda config, plan: next(runs))
    try:
        gate(load(Path(DEMO)), Plan(baseline, CT2_WEIGHTS), baseline, record=False)
    finally:
        assert next(runs, None) is None


def figures(right: float, itl: float) -> Figures:
    return Figures({"right answers %": right}, {"ITL alone": itl}, {"ITL alone": 2.0})


def test_a_run_within_the_limits_passes_at_once(monkeypatch, baseline):
    run(monkeypatch, baseline, figures(89.1, 1.29))


def test_what_is_slow_once_passes(monkeypatch, baseline):
    run(monkeypatch, baseline, figures(90, 1.5), figures(90, 1.1))


def test_what_is_slow_twice_fails(monkeypatch, baseline):
    with pytest.raises(CommandFailed, match=r"ITL alone is 1\.40 times the baseline's"):
        run(monkeypatch, baseline, figures(90, 1.5), figures(90, 1.4))


def test_where_the_machine_is_too_busy_slow_times_pass_and_are_told(monkeypatch, baseline, capsys):
    busy = Figures({"right answers %": 90}, {"ITL alone": 9, CPU: 1}, {"ITL alone": 9, CPU: 9}, too_busy=3.2)
    run(monkeypatch, baseline, busy)
    assert "Only the processor time is held" in capsys.readouterr().err


def test_processor_time_is_held_however_busy_the_machine_is(monkeypatch, baseline):
    baseline.write_text(json.dumps({"times": {CPU: 1.0, "ITL alone": 1.0}}))
    busy = Figures({}, {"ITL alone": 9, CPU: 1.5}, {"ITL alone": 9, CPU: 9}, too_busy=3.2)
    with pytest.raises(CommandFailed, match=r"processor time alone is 1\.50 times the baseline's"):
        run(monkeypatch, baseline, busy, busy)


def test_no_baseline_is_made_on_a_machine_that_is_too_busy(monkeypatch, baseline):
    busy = Figures({}, {CPU: 1.5}, {CPU: 9}, too_busy=3.2)
    monkeypatch.setattr(command, "measure", lambda config, plan: busy)
    before = baseline.read_bytes()
    with pytest.raises(CommandFailed, match=r"no baseline was written: .* takes 3\.2 s"):
        gate(load(Path(DEMO)), Plan(baseline, CT2_WEIGHTS), baseline, record=True)
    assert baseline.read_bytes() == before


def test_wrong_answers_fail_without_a_second_run(monkeypatch, baseline):
    with pytest.raises(CommandFailed, match=r"right answers % is 80\.0, at least 89\.0 is wanted"):
        run(monkeypatch, baseline, figures(80, 1.5))


@pytest.mark.parametrize(("right", "status"), [(50.0, 0), (100.0, 1)])
def test_the_gate_of_the_demo_opens_and_closes(tmp_path, capsys, right, status):
    baseline = tmp_path / "gate.json"
    baseline.write_text(json.dumps({"shares": {"right answers %": right}, "max_loss": 0}))
    assert main(["gate", "--config", DEMO, "--baseline", str(baseline), "--questions", "28"]) == status
    assert ("right answers % is" in capsys.readouterr().err) == bool(status)


def test_a_run_can_be_made_the_baseline(monkeypatch, baseline):
    monkeypatch.setattr(command, "measure", lambda config, plan: figures(97, 2.0))
    gate(load(Path(DEMO)), Plan(baseline, CT2_WEIGHTS), baseline, record=True)
    assert read_baseline(baseline) == Baseline(shares={"right answers %": 97}, times={"ITL alone": 2.0})


def test_the_gate_asks_a_set_of_the_users_own(tmp_path, capsys):
    """The demo's model knows nothing of a shop."""
    labelled = write_material(tmp_path) / "labelled.jsonl"
    baseline = tmp_path / "gate.json"
    baseline.write_text(json.dumps({"shares": {"right answers %": 50.0}}))
    options = ["--baseline", str(baseline), "--labelled", str(labelled)]
    assert main(["gate", "--config", DEMO, *options]) == 1
    assert "right answers % is 0.0" in capsys.readouterr().err
    write_lines(labelled, [{"messages": [{"role": "user", "content": "Open?"}]}])
    assert main(["gate", "--config", DEMO, *options]) == 2
    assert "nothing to judge by" in capsys.readouterr().err
    labelled.unlink()
    assert main(["gate", "--config", DEMO, *options]) == 1
    assert "labelled.jsonl cannot be read" in capsys.readouterr().err


def test_the_baseline_that_comes_with_the_repository_holds_every_figure():
    baseline = read_baseline(ROOT / "tests/bench/gate.json")
    assert (len(baseline.shares), len(baseline.times)) == (2, 7)
