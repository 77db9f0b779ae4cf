from __future__ import annotations

import json

import pytest

from voiceagent.bench.gate.figures import (
    CPU,
    Baseline,
    Block,
    Figures,
    Times,
    figures_of,
    lost,
    read_baseline,
    slower,
    write_baseline,
)
from voiceagent.validation.errors import CommandFailed, ConfigError


def test_a_response_gives_its_first_wait_those_between_pieces_and_their_sum():
    times = Times()
    times.add([1.0, 1.25, 1.5, 2.0])
    assert (times.ttft, times.itl, times.response) == ([250.0], [250.0, 500.0], [1000.0])


def test_an_interrupted_response_has_no_whole_time():
    times = Times()
    times.add([1.0, 1.25, 1.5], whole=False)
    assert (times.ttft, times.itl, times.response) == ([250.0], [250.0], [])


def test_nothing_is_counted_of_a_response_without_a_piece():
    times = Times()
    times.add([1.0])
    assert times == Times()


def block(slowness: float, ttft_ms: float) -> Block:
    """Some seconds of a machine that takes so many times as long for everything."""
    return Block(
        alone=Times(ttft=[ttft_ms * slowness]),
        alone_reference=Times(ttft=[10 * slowness, 10 * slowness, 90 * slowness]),
    )


def test_a_machine_that_is_slow_for_a_while_changes_no_ratio():
    quiet = figures_of([block(1, 12), block(1, 12)], {})
    busy = figures_of([block(1, 12), block(5, 12)], {})
    assert quiet.times == busy.times == {"TTFT alone": pytest.approx(1.2)}
    assert figures_of([block(5, 12)], {}).milliseconds["TTFT alone"] == 60


def test_an_engine_that_is_slower_shows_whatever_the_machine_does():
    before = figures_of([block(1, 12), block(1, 12)], {})
    after = figures_of([block(5, 18), block(1, 18)], {})
    assert after.times["TTFT alone"] == pytest.approx(1.5 * before.times["TTFT alone"])


def test_the_slowest_under_load_are_a_figure_of_their_own():
    reference = Times(ttft=[10.0] * 10 + [20.0])
    loaded = Block(loaded=Times(ttft=[10.0] * 10 + [40.0]), loaded_reference=reference)
    figures = figures_of([loaded], {})
    assert figures.times == {"TTFT under load, p50": 1.0, "TTFT under load, p95": 2.0}


def test_shares_are_of_what_was_asked_and_missing_where_nothing_was():
    figures = figures_of([], {"right answers %": [True, True, False, True], "rightly declined %": []})
    assert figures.shares == {"right answers %": 75.0}


def stretched(stretch: float, ttft_ms: float) -> Block:
    """Some seconds in which the reference took so many times its processor time."""
    return Block(
        alone=Times(ttft=[ttft_ms]),
        alone_reference=Times(ttft=[10.0]),
        alone_cpu_s=[0.012],
        reference_cpu_s=[0.010],
        stretch=[stretch],
    )


def test_times_are_of_the_blocks_in_which_the_machine_was_quiet():
    figures = figures_of([*[stretched(1.1, 12)] * 5, *[stretched(3.0, 90)] * 9], {})
    assert figures.times["TTFT alone"] == pytest.approx(1.2)
    assert figures.too_busy is None and figures.held == figures.times


def test_on_a_machine_that_is_never_quiet_only_processor_time_is_held():
    figures = figures_of([*[stretched(1.1, 12)] * 4, *[stretched(3.0, 90)] * 9], {})
    assert figures.too_busy == 3.0
    assert figures.held == {CPU: pytest.approx(1.2)}
    assert "TTFT alone" in figures.times


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
