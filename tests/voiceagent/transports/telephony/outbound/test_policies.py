"""Limits and status of outbound calls, as properties."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.telephony.outbound.policies.limits import HOUR_S, DialLimits, DialRefused
from voiceagent.transports.telephony.outbound.policies.progress import OutboundCall, Status

CALL = OutboundCall("call_1", "+15550123456", "+15550100000", "twilio", created_s=0.0, changed_s=0.0)
statuses = st.sampled_from(Status)
numbers = st.from_regex(r"\+[1-9][0-9]{6,14}", fullmatch=True)
prefixes = st.from_regex(r"\+[1-9][0-9]{0,6}", fullmatch=True)


@given(number=numbers, allow=st.lists(prefixes, max_size=4))
def test_a_number_is_allowed_exactly_if_a_prefix_of_it_is(number: str, allow: list[str]) -> None:
    limits = DialLimits(tuple(allow))
    if any(number.startswith(prefix) for prefix in allow):
        limits.check_number(number)
    else:
        with pytest.raises(DialRefused):
            limits.check_number(number)


@given(text=st.text(max_size=30))
def test_no_text_but_a_number_is_allowed(text: str) -> None:
    limits = DialLimits(("+1",))
    try:
        limits.check_number(text)
    except DialRefused:
        return
    assert text.isascii()
    assert text[1:].isdigit()
    assert text.startswith("+1")


@given(
    steps=st.lists(st.floats(0, 600), min_size=1, max_size=60),
    hourly=st.integers(1, 8),
)
def test_no_hour_has_more_calls_than_allowed(steps: list[float], hourly: int) -> None:
    limits = DialLimits(("+1",), 1_000, hourly)
    now_s, placed = 0.0, [0.0]
    placed.clear()
    for step_s in steps:
        now_s += step_s
        if limits.wait_s(0, placed, now_s) == 0:
            placed.append(now_s)
    for at_s in placed:
        assert sum(at_s - HOUR_S < other <= at_s for other in placed) <= hourly


@given(placed=st.lists(st.floats(0, HOUR_S), min_size=1, max_size=10), hourly=st.integers(1, 5))
def test_after_the_wait_a_call_may_be_placed(placed: list[float], hourly: int) -> None:
    limits = DialLimits(("+1",), 1_000, hourly)
    wait_s = limits.wait_s(0, placed, HOUR_S)
    assert limits.wait_s(0, placed, HOUR_S + wait_s + 1e-6) == 0


@given(reports=st.lists(statuses, max_size=10))
def test_a_status_never_goes_back_and_the_end_is_final(reports: list[Status]) -> None:
    order = [Status.QUEUED, Status.RINGING, Status.ANSWERED]
    call, was_answered = CALL, False
    for number, status in enumerate(reports):
        new = call.apply_report(status, "", float(number))
        if call.status.is_final:
            assert new == call
        elif not new.status.is_final:
            assert order.index(new.status) >= order.index(call.status)
        was_answered = was_answered or new.status is Status.ANSWERED
        call = new
    if call.status.is_final:
        assert (call.status is Status.COMPLETED) == was_answered


@given(reports=st.lists(statuses, max_size=6))
def test_a_repeated_report_changes_nothing(reports: list[Status]) -> None:
    call = CALL
    for status in reports:
        call = call.apply_report(status, "once", 1.0)
        assert call.apply_report(status, "twice", 2.0) == call


@given(reports=st.lists(statuses, max_size=6), ring_s=st.floats(5, 120), max_call_s=st.floats(1, 10_000))
def test_every_call_is_over_at_last_without_any_report(
    reports: list[Status], ring_s: float, max_call_s: float
) -> None:
    call = CALL
    for status in reports:
        call = call.apply_report(status, "", 1.0)
    assert call.expire(ring_s, max_call_s, 100_000.0).status.is_final
    assert call.expire(ring_s, max_call_s, 2.0) == call


@given(reports=st.lists(statuses, max_size=6))
def test_a_stream_connects_at_most_once(reports: list[Status]) -> None:
    call, connected = CALL, 0
    for status in (Status.QUEUED, *reports):
        call = call.apply_report(status, "", 1.0)
        after = call.connect(2.0)
        if after is not None:
            call, connected = after, connected + 1
    assert connected == 1


def test_an_answered_call_is_completed_by_whatever_ends_it() -> None:
    answered = CALL.apply_report(Status.ANSWERED, "", 1.0)
    assert answered.apply_report(Status.BUSY, "", 2.0).status is Status.COMPLETED
    assert CALL.apply_report(Status.COMPLETED, "", 2.0).status is Status.NO_ANSWER
