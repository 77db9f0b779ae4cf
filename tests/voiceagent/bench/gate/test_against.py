from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.bench.gate import command
from voiceagent.bench.gate.command import Plan, gate_against
from voiceagent.bench.gate.figures import Figures
from voiceagent.cli.main import main
from voiceagent.config.tables import load
from voiceagent.demo import CT2_WEIGHTS
from voiceagent.validation.errors import CommandFailed

DEMO = Path(__file__).parents[4] / "configs/demo.toml"
BASE = Figures({"right answers %": 96.0}, {"ITL alone": 1.2}, {"ITL alone": 2.0}, memory_mib=100.0)


def compare(monkeypatch: pytest.MonkeyPatch, other: Figures, max_loss: float = 1.0) -> None:
    runs = iter([BASE, other])
    monkeypatch.setattr(command, "_measured", lambda config, plan: next(runs))
    config = load(DEMO)
    gate_against(config, config, Plan(DEMO, CT2_WEIGHTS), max_loss)


def test_both_are_shown_side_by_side(monkeypatch, capsys):
    other = Figures({"right answers %": 95.5}, {"ITL alone": 0.6}, {"ITL alone": 1.1}, memory_mib=40.0)
    compare(monkeypatch, other)
    rows = [row.replace("│", " ").split() for row in capsys.readouterr().out.splitlines() if "│" in row]
    assert rows == [
        ["right", "answers", "%", "96.0", "95.5", "-0.5"],
        ["ITL", "alone,", "ms", "2.0", "1.1", "0.50x"],
        ["memory,", "MiB", "100", "40", "0.40x"],
    ]


def test_more_than_the_allowed_loss_fails(monkeypatch):
    with pytest.raises(CommandFailed, match=r"right answers % is 93\.9, at least 94\.0 is wanted"):
        compare(monkeypatch, Figures({"right answers %": 93.9}), max_loss=2.0)


def test_times_on_a_busy_machine_are_said_to_tell_little(monkeypatch, capsys):
    compare(monkeypatch, Figures({"right answers %": 96.0}, too_busy=3.2))
    assert "times tell little" in capsys.readouterr().out


def test_each_is_measured_in_a_process_of_its_own(capsys):
    assert main(["gate", "--config", str(DEMO), "--against", str(DEMO), "--questions", "5"]) == 0
    assert "memory, MiB" in capsys.readouterr().out


def test_a_run_is_held_against_one_of_both(capsys):
    with pytest.raises(SystemExit):
        main(["gate", "--config", str(DEMO)])
    assert "one of the arguments --baseline --against is required" in capsys.readouterr().err
