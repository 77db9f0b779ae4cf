from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.transports.limits import BURST_S, Allowance

RATE = 1_000


def test_a_burst_may_come_at_once_and_then_the_rate():
    allowance = Allowance(RATE, 0.0)
    allowance.left -= round(RATE * BURST_S)
    assert allowance.wait_s(0.0) == 0.0
    allowance.left -= RATE
    assert allowance.wait_s(0.0) == 1.0
    assert allowance.wait_s(0.5) == 0.5
    assert allowance.wait_s(1.0) == 0.0


def test_who_has_nothing_left_spends_nothing_until_it_has_grown():
    allowance, now = Allowance(RATE, 0.0), [0.0]
    sizes = [allowance.spend(RATE, lambda: now[0]) for _ in range(10)]
    assert sizes.count(True) == BURST_S + 1
    assert not sizes[-1]
    now[0] = 1.5
    assert allowance.spend(RATE, lambda: now[0])
    assert not allowance.spend(RATE, lambda: now[0])


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(0, 5_000)), max_size=60))
def test_who_waits_as_told_sends_rate_and_burst_at_most(sent: list[tuple[float, int]]):
    allowance, now_s, total = Allowance(RATE, 0.0), 0.0, 0
    for pause_s, size in sent:
        now_s += pause_s + allowance.wait_s(now_s + pause_s)
        allowance.left -= size
        total += size
        assert total <= RATE * (now_s + BURST_S) + 5_000 + 1
