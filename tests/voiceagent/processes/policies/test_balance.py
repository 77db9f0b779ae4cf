from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from voiceagent.processes.policies.balance import UNCOUNTED_S, Balance


def test_the_worker_with_the_fewest_calls_is_picked():
    assert Balance().pick(0.0, [3, 1, 2], {0, 1, 2}) == 1


def test_only_a_worker_that_is_able_is_picked():
    assert Balance().pick(0.0, [3, 1, 2], {0, 2}) == 2


def test_a_late_worker_is_passed_over_while_another_is_in_time():
    assert Balance().pick(0.0, [0, 3, 2], {0, 1, 2}, late={0}) == 2
    assert Balance().pick(0.0, [0, 3, 2], {0, 1, 2}, late={0, 1, 2}) == 0


@given(st.integers(1, 8), st.integers(1, 100))
def test_connections_that_come_at_once_are_spread_evenly(workers, connections):
    balance = Balance()
    got = [0] * workers
    for _ in range(connections):
        got[balance.pick(0.0, [0] * workers, range(workers))] += 1
    assert max(got) - min(got) <= 1


def test_after_a_second_a_connection_counts_as_its_call_only():
    balance = Balance()
    assert balance.pick(0.0, [0, 0], {0, 1}) == 0
    assert balance.pick(UNCOUNTED_S / 2, [0, 0], {0, 1}) == 1
    assert balance.pick(2 * UNCOUNTED_S, [0, 1], {0, 1}) == 0
