"""The trace that a call belongs to: W3C Trace Context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.telemetry.otlp.trace.spans import TraceContext, header_of, new_trace, parse, span_id

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEX = st.text("0123456789abcdef")


def test_the_example_of_the_specification_is_read():
    assert parse(f"00-{TRACE}-{SPAN}-01") == TraceContext(TRACE, SPAN, True)
    assert parse(f"00-{TRACE}-{SPAN}-00") == TraceContext(TRACE, SPAN, False)


def test_a_later_version_is_read_as_far_as_this_one_knows():
    assert parse(f"cc-{TRACE}-{SPAN}-01-what-will-be") == TraceContext(TRACE, SPAN, True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
    ],
)
def test_what_is_none_is_none(header: str):
    assert parse(header) is None


@given(HEX, st.text())
def test_no_header_breaks_it(some: str, other: str):
    parse(f"00-{some}-{other}")


@given(st.text(min_size=1), st.text(), st.booleans())
def test_what_is_written_is_read(call_id: str, name: str, sampled: bool):
    place = TraceContext(new_trace(call_id, 1.0).trace_id, span_id(call_id, name), sampled)
    assert parse(header_of(place)) == place


def test_ids_follow_from_the_calls_own():
    assert new_trace("call_1", 1.0) == new_trace("call_1", 1.0)
    assert span_id("call_1", "turn a") == span_id("call_1", "turn a")
    assert len({span_id(call, name) for call in ("call_1", "call_2") for name in ("turn a", "turn b")}) == 4


def test_as_many_calls_are_traced_as_are_to_be():
    calls = [f"call_{number}" for number in range(4_000)]
    assert all(new_trace(call, 1.0).sampled for call in calls)
    assert not any(new_trace(call, 0.0).sampled for call in calls)
    assert sum(new_trace(call, 0.25).sampled for call in calls) == pytest.approx(1_000, rel=0.1)
