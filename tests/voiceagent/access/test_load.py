"""When a process is too late with what is due to take one more call."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.access.load import lag_refusal

MAX_LAG_S = 0.1


@given(st.floats(0, 10), st.integers(0, 500))
def test_a_late_process_takes_no_call_beside_others(lag_s: float, calls: int) -> None:
    refusal = lag_refusal(lag_s, MAX_LAG_S, calls)
    assert (refusal is not None) == (calls > 0 and lag_s > MAX_LAG_S)


def test_the_refusal_names_the_lateness_its_limit_and_when_to_try_again() -> None:
    refusal = lag_refusal(0.25, MAX_LAG_S, 3)
    assert refusal is not None
    assert "250 ms late (server.max_loop_lag_ms is 100)" in refusal.reason
    assert refusal.retry_after_s
