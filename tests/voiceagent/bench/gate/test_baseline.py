from __future__ import annotations

import json

import pytest

from voiceagent.bench.gate.baseline import Baseline, lost, read_baseline, slower, write_baseline
from voiceagent.bench.gate.figures import CPU, Figures
from voiceagent.validation.errors import CommandFailed, ConfigError


def test_shares_may_fall_by_the_allowed_loss_and_no_more():
    base = {"right answers %": 96.0, "rightly declined %": 90.0}
    measured = {"right answers %": 95.0, "rightly declined %": 88.9}
    assert lost(measured, base, max_loss=1.0) == ["rightly declined % is 88.9, at least 89.0 is wanted"]


def test_times_may_grow_to_the_allowed_ratio_and_no_more():
    baseline = Baseline(times={"TTFT alone": 1.0, "ITL alone": 2.0})
    assert slower({"TTFT alone": 1.29, "ITL alone": 3.0}, baseline) == {
        "ITL alone": "ITL alone is 1.50 times the baseline's, at most 1.30 is wanted"
    }


def test_processor_time_has_a_limit_of_its_own():
    baseline = Baseline(max_ratio=2.0, max_cpu_ratio=1.2, times={CPU: 1.0, "TTFT alone": 1.0})
    assert list(slower({CPU: 1.25, "TTFT alone": 1.9}, baseline)) == [CPU]


def test_a_figure_that_was_not_measured_is_named_with_those_that_were():
    measured, told = {"TTFT": 1.0, "ITL": 1.0}, "the baseline has 'TTTF'; allowed: TTFT, ITL"
    with pytest.raises(CommandFailed, match=told):
        slower(measured, Baseline(times={"TTTF": 1.0}))
    with pytest.raises(CommandFailed, match=told):
        lost(measured, {"TTTF": 1.0}, max_loss=1.0)


def test_a_baseline_that_was_written_is_read_again(tmp_path):
    write_baseline(tmp_path / "gate.json", Figures({"right answers %": 96.54}, {"TTFT alone": 1.181}))
    baseline = read_baseline(tmp_path / "gate.json")
    assert (baseline.shares, baseline.times) == ({"right answers %": 96.5}, {"TTFT alone": 1.18})
    assert (baseline.max_loss, baseline.max_ratio) == (1.0, 1.3)


def test_a_baseline_that_is_none_is_refused(tmp_path):
    with pytest.raises(CommandFailed, match=r"none\.json: cannot be read as JSON"):
        read_baseline(tmp_path / "none.json")
    (tmp_path / "gate.json").write_text(json.dumps({"max_ratio": 1.0}))
    with pytest.raises(ConfigError, match=r"gate\.json: max_ratio = 1.0: .*greater than 1"):
        read_baseline(tmp_path / "gate.json")


def test_a_folder_that_is_not_there_cannot_take_a_baseline(tmp_path):
    with pytest.raises(CommandFailed, match="cannot be written"):
        write_baseline(tmp_path / "none/gate.json", Figures())
