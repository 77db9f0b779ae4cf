from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.conversation.latency import (
    STAGES,
    STAMPS,
    LatencyBudget,
    TurnCounts,
    TurnLedger,
    TurnReport,
    percentile,
)

SERIAL = {
    "speech_end": 10.0,
    "turn_decided": 10.2,
    "transcript_final": 10.25,
    "llm_request": 10.251,
    "first_token": 10.351,
    "first_fragment": 10.371,
    "first_sound": 10.421,
    "first_frame": 10.423,
    "played": 10.463,
}
PREEMPTIVE = {
    "speech_end": 10.0,
    "transcript_final": 10.07,
    "llm_request": 10.071,
    "first_token": 10.15,
    "first_fragment": 10.16,
    "first_sound": 10.18,
    "turn_decided": 10.2,
    "first_frame": 10.201,
}
TIMES = st.dictionaries(
    st.sampled_from(STAMPS), st.integers(0, 100_000_000).map(lambda us: us / 1_000_000), min_size=1
)


def report(stamps: dict, budget: LatencyBudget | None = None) -> TurnReport:
    return ledger_of(stamps).report(budget or LatencyBudget(), "completed")


def ledger_of(stamps: dict) -> TurnLedger:
    ledger = TurnLedger("item_1")
    for name, at_s in stamps.items():
        ledger.stamp(name, at_s)
    return ledger


def durations_us(turn: TurnReport) -> dict[str, int]:
    return {stage.name: stage.duration_us for stage in turn.stages}


def test_each_stage_is_the_time_from_the_stamp_before_it():
    assert durations_us(report(SERIAL)) == {
        "endpointing": 200_000,
        "recognition": 50_000,
        "request": 1_000,
        "llm_ttft": 100_000,
        "fragmenting": 20_000,
        "synthesis": 50_000,
        "playout": 2_000,
        "network": 40_000,
    }


def test_the_first_time_of_a_stamp_counts():
    ledger = TurnLedger("item_1")
    ledger.stamp("speech_end", 1.0)
    ledger.stamp("turn_decided", 1.2)
    ledger.stamp("turn_decided", 1.9)
    assert ledger.report(LatencyBudget(), "completed").total_us == 200_000


def test_the_stage_after_a_missing_stamp_has_its_time():
    stamps = {name: at_s for name, at_s in SERIAL.items() if name not in ("transcript_final", "played")}
    stages = durations_us(report(stamps))
    assert "recognition" not in stages and "network" not in stages
    assert stages["request"] == 51_000


def test_work_done_before_the_turn_was_decided_costs_no_time():
    stages = durations_us(report(PREEMPTIVE))
    assert stages.pop("endpointing") == 200_000
    assert stages.pop("playout") == 1_000
    assert set(stages.values()) == {0}


def test_hidden_is_the_work_done_before_the_turn_was_decided():
    assert report(SERIAL).hidden_us == 0
    assert report(PREEMPTIVE).hidden_us == 109_000


def test_hidden_work_is_reported_stage_by_stage():
    hidden = {stage.name: stage.hidden_us for stage in report(PREEMPTIVE).stages}
    assert {name for name, us in hidden.items() if us} == {"llm_ttft", "fragmenting", "synthesis"}


def test_of_a_stage_under_way_the_part_before_the_decision_is_hidden():
    late = PREEMPTIVE | {
        "first_token": 10.25,
        "first_fragment": 10.26,
        "first_sound": 10.3,
        "first_frame": 10.3,
    }
    turn = report(late)
    assert durations_us(turn)["llm_ttft"] == 50_000
    assert turn.hidden_us == 129_000


def test_waiting_for_the_decision_is_not_hidden_work():
    waiting = SERIAL | {"transcript_final": 10.05, "turn_decided": 10.24, "llm_request": 10.241}
    assert report(waiting).hidden_us == 0


@settings(deadline=None)
@given(TIMES)
def test_stages_sum_exactly_to_the_wait(stamps: dict):
    ordered = [round(stamps[name] * 1_000_000) for name in STAMPS if name in stamps]
    turn = report(stamps)
    assert turn.total_us == sum(stage.duration_us for stage in turn.stages) == max(ordered) - ordered[0]


@settings(deadline=None)
@given(TIMES)
def test_no_time_is_negative(stamps: dict):
    turn = report(stamps)
    assert all(stage.duration_us >= 0 for stage in turn.stages)
    assert turn.hidden_us >= 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 10_000_000), min_size=len(STAMPS), max_size=len(STAMPS)))
def test_a_serial_turn_takes_from_its_first_stamp_to_its_last(times_us: list[int]):
    times_us.sort()
    turn = report({name: at_us / 1_000_000 for name, at_us in zip(STAMPS, times_us, strict=True)})
    assert turn.total_us == times_us[-1] - times_us[0]
    assert turn.hidden_us == 0
    assert tuple(stage.name for stage in turn.stages) == STAGES


def test_the_time_from_a_first_thought_to_the_first_word_is_named():
    turn = report(SERIAL | {"thoughts_end": 10.36})
    stages = {"llm_ttft": 100_000, "thinking": 9_000, "fragmenting": 11_000}
    assert stages.items() <= durations_us(turn).items()


def test_a_report_names_what_broke_the_budget():
    budget = LatencyBudget({"endpointing": 0.2, "recognition": 0.049, "llm_ttft": 0.099}, total_s=0.4)
    turn = report(SERIAL, budget)
    assert turn.over_budget == ("recognition", "llm_ttft", "total")
    assert [stage.budget_s for stage in turn.stages][:3] == [0.2, 0.049, None]


def test_a_turn_within_its_budget_breaks_nothing():
    assert report(SERIAL, LatencyBudget(dict.fromkeys(STAGES, 0.2), total_s=0.463)).over_budget == ()


def test_a_response_to_nobodys_speech_has_no_budget_of_the_whole():
    greeting = {name: SERIAL[name] for name in ("first_fragment", "first_sound", "first_frame")}
    assert report(greeting, LatencyBudget(total_s=0.001)).over_budget == ()


def test_a_ledger_without_stamps_reports_nothing():
    turn = TurnLedger("item_1").report(LatencyBudget(total_s=0.1), "failed", TurnCounts(tokens_wasted=3))
    assert (turn.stages, turn.total_s, turn.hidden_s, turn.over_budget) == ((), 0.0, 0.0, ())
    assert turn.counts.tokens_wasted == 3


@pytest.mark.parametrize(
    ("percent", "expected"),
    [(50, 35.0), (95, 50.0), (5, 15.0), (30, 20.0), (40, 20.0), (41, 35.0), (100, 50.0)],
)
def test_percentiles_are_by_nearest_rank(percent: float, expected: float):
    assert percentile([35.0, 20.0, 15.0, 50.0, 40.0], percent) == expected


def test_a_percentile_of_nothing_is_an_error():
    with pytest.raises(ValueError, match="at least one value"):
        percentile([], 50)


def test_a_percentile_outside_the_scale_is_an_error():
    with pytest.raises(ValueError, match="percent is 0"):
        percentile([1.0], 0)


def test_a_response_that_was_heard_when_the_call_ended_has_its_stages():
    turn = ledger_of(SERIAL).hung_up(LatencyBudget())
    assert (turn.outcome, turn.stages, turn.recorded) == ("hung_up", report(SERIAL).stages, True)


def test_a_response_of_which_nothing_was_heard_when_the_call_ended_has_no_stages_and_is_not_kept():
    unheard = {name: at_s for name, at_s in SERIAL.items() if name not in ("first_frame", "played")}
    turn = ledger_of(unheard).hung_up(LatencyBudget({"endpointing": 0.1}, total_s=0.1))
    assert (turn.outcome, turn.stages, turn.over_budget, turn.recorded) == ("hung_up_unheard", (), (), False)
