"""Liveness: when a process counts as hung, and when a dead one is restarted."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.circuit_breaker import Backoff
from voiceagent.processes.policies.liveness import STARTS_IN_A_ROW, Heartbeat, Restarts, Supervision

SUPERVISION = Supervision(beat_s=0.5, late_s=1.0, hang_s=3.0, backoff=Backoff(0.5, 30.0))


def silent(heartbeat: Heartbeat, from_s: float, seconds: float) -> list[str]:
    """The states at each beat of a silence."""
    states = []
    for beat in range(round(seconds / SUPERVISION.beat_s) + 1):
        heartbeat.beat(from_s + beat * SUPERVISION.beat_s)
        states.append(heartbeat.state)
    return states


def test_a_silent_process_is_late_and_then_hung() -> None:
    states = silent(Heartbeat(SUPERVISION), 100.0, 3.0)
    assert states == ["well"] * 2 + ["late"] * 4 + ["hung"]


def test_a_silent_process_that_computes_has_more_time() -> None:
    heartbeat = Heartbeat(replace(SUPERVISION, working_s=6.0))
    states = []
    for beat in range(13):
        heartbeat.beat(beat * 0.5)
        heartbeat.record_busy_time(20.0 + beat * 0.1)  # a fifth of a core
        states.append(heartbeat.state)
    assert states == ["well"] * 2 + ["late"] * 10 + ["hung"]


def test_a_silent_process_that_stops_computing_has_as_long_as_any_other_from_then() -> None:
    heartbeat = Heartbeat(replace(SUPERVISION, working_s=600.0))
    states = []
    for beat in range(17):
        heartbeat.beat(beat * 0.5)
        heartbeat.record_busy_time(20.0 + min(beat, 10) * 0.1)
        states.append(heartbeat.state)
    assert states == ["well"] * 2 + ["late"] * 14 + ["hung"]


def test_a_thread_that_ends_with_its_waits_does_not_hide_that_the_others_compute() -> None:
    heartbeat = Heartbeat(replace(SUPERVISION, working_s=6.0))
    states = []
    for beat in range(13):
        heartbeat.beat(beat * 0.5)
        heartbeat.record_busy_time((20.0 if beat < 2 else 10.0) + beat * 0.1)
        states.append(heartbeat.state)
    assert states == ["well"] * 2 + ["late"] * 10 + ["hung"]


def test_an_answer_ends_the_silence_and_another_question_is_asked() -> None:
    heartbeat = Heartbeat(SUPERVISION)
    silent(heartbeat, 0.0, 2.0)
    heartbeat.on_reply()
    assert heartbeat.state == "well"
    assert heartbeat.beat(2.5)
    assert not heartbeat.beat(3.0)


@given(st.lists(st.floats(-1e6, 1e6), max_size=30))
def test_nobody_is_hung_before_as_many_beats_whatever_the_clock_does(times: list[float]) -> None:
    heartbeat = Heartbeat(SUPERVISION)
    for beat, now_s in enumerate(times):
        heartbeat.beat(now_s)
        assert heartbeat.silent_s <= beat * 1.5 * SUPERVISION.beat_s


@given(st.lists(st.booleans(), max_size=50))
def test_a_process_that_was_ever_ready_is_never_given_up(reason_reported: list[bool]) -> None:
    restarts = Restarts(SUPERVISION, lambda: 0.999)
    restarts.ready(0.0)
    for death, told in enumerate(reason_reported):
        wait_s = restarts.lost(float(death), told)
        assert wait_s is not None
        assert wait_s <= SUPERVISION.backoff.max_s


def test_restarts_wait_longer_each_time_but_the_first() -> None:
    restarts = Restarts(SUPERVISION, lambda: 0.999)
    restarts.ready(0.0)
    waits = [restarts.lost(1.0, reason_reported=False) or 0.0 for _ in range(10)]
    assert waits[0] == 0.0
    assert waits == sorted(waits)
    assert 29.0 < waits[-1] <= 30.0


def test_a_process_that_stayed_long_enough_is_restarted_at_once_again() -> None:
    restarts = Restarts(SUPERVISION, lambda: 0.999)
    restarts.ready(0.0)
    for _ in range(5):
        restarts.lost(1.0, reason_reported=False)
    restarts.ready(10.0)
    assert restarts.lost(11.0, reason_reported=False) != 0.0
    restarts.ready(20.0)
    assert restarts.lost(20.0 + SUPERVISION.backoff.max_s, reason_reported=False) == 0.0


def test_a_process_that_was_never_ready_has_a_few_starts() -> None:
    restarts = Restarts(SUPERVISION, lambda: 0.999)
    waits = [restarts.lost(0.0, reason_reported=False) for _ in range(STARTS_IN_A_ROW)]
    assert waits == [0.0] * (STARTS_IN_A_ROW - 1) + [None]


def test_what_tells_why_it_cannot_start_is_not_tried_again() -> None:
    assert Restarts(SUPERVISION, lambda: 0.999).lost(0.0, reason_reported=True) is None
