from __future__ import annotations

from llmcore.policies.admission import AdmissionControl


def busy(requests: int, calls: int = 6) -> AdmissionControl:
    """Ten slots, of which so many calls took so many for a minute."""
    admission = AdmissionControl(max_running=10, max_utilization=0.8, max_ttft_s=0.5)
    for second in range(60):
        admission.observe(float(second), requests, calls)
    return admission


def test_a_call_is_taken_while_there_is_room():
    assert busy(3).decide(6, 0.1) is None


def test_a_call_is_refused_where_its_answers_would_come_late():
    refusal = busy(0).decide(6, 2.3)
    assert refusal is not None
    assert "2.30 s" in refusal.reason
    assert refusal.retry_after_s == 3.0


def test_a_call_that_would_make_the_engine_too_busy_is_refused():
    assert busy(6, calls=14).decide(14, 0.1) is None  # 6.4 of 10 slots with it
    refusal = busy(6, calls=3).decide(3, 0.1)  # 8 of them
    assert refusal is not None
    assert "3 calls use 6.0 of 10 slots" in refusal.reason


def test_a_call_that_would_come_close_to_a_limit_is_refused():
    """The mean does not yet include the needs of calls that have just begun."""
    assert busy(6, calls=4).decide(4, 0.1) is not None  # 7.5 of 8
    assert busy(0).decide(4, 0.48) is not None  # of 0.5


def test_a_refusal_names_the_limit_that_was_exceeded():
    refusal = busy(0).decide(4, 0.48)
    assert refusal is not None
    assert "would be 0.48 s; allowed: at most 0.45 s" in refusal.reason


def test_a_rush_is_admitted_no_further_than_single_calls():
    """Their needs are estimated from those of earlier calls."""
    admission = AdmissionControl(max_running=10, max_utilization=0.8, max_ttft_s=0.5)
    calls = 0
    for second in range(120):
        calls += admission.decide(calls, 0.1) is None
        admission.observe(float(second), calls // 2, calls)
    one_by_one, calls = calls, 0
    for second in range(120, 140):
        admission.observe(float(second), 0, 0)  # all have hung up
    for _ in range(100):
        calls += admission.decide(calls, 0.1) is None
    assert 2 < calls <= one_by_one


def test_a_short_burst_refuses_nobody():
    admission = busy(3)
    admission.observe(60.0, 30, 6)
    assert admission.decide(6, 0.1) is None


def test_the_only_call_is_never_refused():
    assert busy(50).decide(0, 99.0) is None
