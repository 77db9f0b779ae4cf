from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from voiceagent.telemetry.event_loop import LOGGED_LAG_S, RECENT, STALL_S, LoopMonitor


def observed(*lags_s: float) -> tuple[LoopMonitor, str]:
    registry = CollectorRegistry()
    monitor = LoopMonitor(registry)
    for beat, lag_s in enumerate(lags_s):
        monitor.observe(beat, lag_s)
    return monitor, generate_latest(registry).decode()


def test_the_longest_lag_of_ten_seconds_is_in_the_metrics():
    assert "voiceagent_loop_lag_seconds 0.25" in observed(0.25, -0.5, 0.125)[1]


def test_how_often_it_was_late_counts_what_a_caller_hears():
    assert observed(0.05, 0.5, 0.5)[0].late == 2


def test_what_is_past_counts_no_more():
    assert observed(0.5, 0.5, *[0.0] * RECENT)[0].late == 0


def test_one_stall_makes_no_late_loop_and_many_do() -> None:
    assert observed(2.0)[0].lag_s == 0.0
    assert observed(*[0.25] * RECENT)[0].lag_s == 0.25


def test_a_process_that_stood_still_says_so_in_the_log_and_to_the_calls() -> None:
    told: list[tuple[float, float]] = []
    monitor = LoopMonitor(CollectorRegistry(), lambda clock_s, lag_s: told.append((clock_s, lag_s)))
    with capture_logs() as logged:
        for beat, lag_s in enumerate((STALL_S, LOGGED_LAG_S, 15.0)):
            monitor.observe(beat, lag_s, 100.0)
    assert told == [(100.0, LOGGED_LAG_S), (100.0, 15.0)]
    assert [(entry["event"], entry["for_s"]) for entry in logged] == [("event_loop_stalled", 15.0)]
