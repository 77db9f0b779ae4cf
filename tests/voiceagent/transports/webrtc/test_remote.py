"""How far behind a caller hears."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.webrtc.remote import MIN_BUFFER_S, Remote


def test_before_any_report_the_caller_is_behind_by_what_a_browser_holds() -> None:
    assert Remote().delay_s == MIN_BUFFER_S


def test_half_the_round_trip_and_an_uneven_line_add_to_it() -> None:
    remote = Remote()
    remote.reported(0.08, 0.005, 0.25)
    assert remote.delay_s == pytest.approx(MIN_BUFFER_S + 0.04 + 0.01)
    assert remote.lost == 0.25


@given(st.floats(0, 2), st.floats(0, 1))
def test_a_longer_or_more_uneven_way_is_never_a_shorter_delay(round_trip_s: float, jitter_s: float) -> None:
    near, far = Remote(), Remote()
    near.reported(None, 0.0, 0.0)
    far.reported(round_trip_s, jitter_s, 0.0)
    assert far.delay_s >= near.delay_s
