from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.calls.rows import CallFilter, Cursor
from voiceagent.inspector.queries import BadQuery, byte_range, call_query, cursor_text, is_call_id


def test_without_parameters_the_newest_calls_are_meant():
    assert call_query({}) == (CallFilter(), 50, None)


def test_filters_are_all_that_is_given():
    query = call_query({"since": "1.5", "state": "broken", "slower_than_ms": "2000", "tool_failed": "1"})
    assert query.wanted == CallFilter(since=1.5, state="broken", slower_than_s=2.0, tool_failed=True)


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("+15550100", "+15550100"),
        (" 15550100", "+15550100"),
        ("CA12", "CA12"),
        (" 1 Main Street", " 1 Main Street"),
    ],
)
def test_a_number_is_meant_with_its_plus_which_is_a_blank_in_a_url(told: str, wanted: str):
    assert call_query({"provider_value": told}).wanted == CallFilter(provider_value=wanted)


@given(st.floats(0, 1e11), st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True))
def test_a_cursor_leads_back_to_its_very_call(started_at: float, call_id: str):
    cursor = Cursor(started_at, call_id)
    assert call_query({"behind": cursor_text(cursor)}).behind == cursor


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=20), max_size=3))
def test_whatever_is_asked_is_a_query_or_told_to_be_none(parameters: dict[str, str]):
    try:
        call_query(parameters)
    except BadQuery as mistake:
        assert str(mistake)


@pytest.mark.parametrize("text", ["", "..", "a/b", "a.b", "a\0", "ä", "a" * 65, "a\n"])
def test_what_no_call_is_called_is_no_id(text: str):
    assert not is_call_id(text)


@pytest.mark.parametrize(
    ("header", "part"),
    [
        (None, None),
        ("bytes=0-9", (0, 10)),
        ("bytes=5-", (5, 100)),
        ("bytes=-5", (95, 100)),
        ("bytes=-500", (0, 100)),
        ("bytes=90-500", (90, 100)),
        ("bytes=0-1,5-6", None),
        ("lines=0-1", None),
        ("bytes=-", None),
    ],
)
def test_a_range_is_what_rfc_9110_says(header: str | None, part: tuple[int, int] | None):
    assert byte_range(header, 100) == part


@pytest.mark.parametrize("header", ["bytes=100-", "bytes=9-3", "bytes=-0"])
def test_a_range_that_the_file_has_not_is_refused(header: str):
    with pytest.raises(BadQuery, match="100 bytes"):
        byte_range(header, 100)


@given(st.text(max_size=30), st.integers(0, 1000))
def test_no_range_leads_out_of_the_file(header: str, size: int):
    for text in (header, f"bytes={header}"):
        try:
            part = byte_range(text, size)
        except BadQuery:
            continue
        assert part is None or 0 <= part[0] < part[1] <= size
