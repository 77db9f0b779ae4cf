from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from voiceagent.processes.policies.balance import (
    FIRST_COST,
    LATE_S,
    UNCOUNTED_S,
    Balance,
    CallCost,
    WorkerLoad,
)

THRESHOLD = 0.5
MAX_LAG_S = 0.1
SMOOTHED_S = 2.2
"""So long what a worker computes takes to be in its reports, in the main (`ProcessLoad`)."""
loads = st.lists(
    st.builds(WorkerLoad, st.integers(0, 200), st.floats(0, 1), st.floats(0, 0.3)), min_size=1, max_size=8
)


def balance(threshold: float = THRESHOLD) -> Balance:
    return Balance(threshold, MAX_LAG_S)


def calls(*each: int) -> list[WorkerLoad]:
    """Workers that compute nothing to speak of."""
    return [WorkerLoad(number) for number in each]


def came(balance: Balance, workers: int, connections: int, now_s: float = 0.0) -> list[int]:
    """Return how many of simultaneous connections each worker gets; they have no calls yet."""
    got = [0] * workers
    for _ in range(connections):
        got[balance.pick(now_s, calls(*[0] * workers), range(workers))] += 1
    return got


def test_the_fullest_worker_below_the_threshold_is_picked():
    assert balance().pick(0.0, calls(1, 3, 2), {0, 1, 2}) == 1
    busy = [WorkerLoad(1, 0.1), WorkerLoad(30, 0.51), WorkerLoad(20, 0.3)]
    assert balance().pick(0.0, busy, {0, 1, 2}) == 2


def test_where_all_are_beyond_the_threshold_the_fewest_calls_are_picked():
    assert balance().pick(0.0, [WorkerLoad(30, 0.6), WorkerLoad(20, 0.9)], {0, 1}) == 1


def test_a_threshold_of_0_spreads_evenly():
    assert balance(0).pick(0.0, calls(3, 1, 2), {0, 1, 2}) == 1
    assert came(balance(0), 3, 9) == [3, 3, 3]


def test_only_a_worker_that_is_able_is_picked():
    assert balance().pick(0.0, calls(3, 1, 2), {1, 2}) == 2
    assert balance(0).pick(0.0, calls(3, 1, 2), {0, 2}) == 2


@given(loads, st.floats(0, 1), st.data())
def test_a_late_worker_is_passed_over_while_another_is_in_time(workers, threshold, data):
    able = data.draw(st.sets(st.sampled_from(range(len(workers))), min_size=1))
    picked = balance(threshold).pick(0.0, workers, able)
    assert picked in able
    assert workers[picked].lag_s <= MAX_LAG_S or all(workers[n].lag_s > MAX_LAG_S for n in able)


def test_a_worker_whose_core_others_have_is_full_before_it_is_too_late():
    assert balance().pick(0.0, [WorkerLoad(9, 0.1, 2 * LATE_S), WorkerLoad(0)], {0, 1}) == 1


@given(st.integers(1, 8), st.integers(1, 500))
def test_of_connections_that_come_at_once_no_worker_gets_more_than_it_is_sure_to_bear(workers, connections):
    got = came(balance(), workers, connections)
    most = round(THRESHOLD / FIRST_COST)
    if connections <= workers * most:
        assert max(got) <= most and sum(0 < number < most for number in got) <= 1
    else:
        assert max(got) - min(got) <= 1


def test_after_a_second_a_connection_counts_as_its_call_only():
    spread = balance(0)
    assert spread.pick(0.0, calls(0, 0), {0, 1}) == 0
    assert spread.pick(UNCOUNTED_S / 2, calls(0, 0), {0, 1}) == 1
    assert spread.pick(2 * UNCOUNTED_S, calls(0, 1), {0, 1}) == 0


def test_what_calls_cost_that_just_came_is_foreseen_until_it_is_measured():
    filling, workers = balance(), [WorkerLoad(10, 0.3), WorkerLoad(0)]
    assert [filling.pick(0.0, workers, {0, 1}) for _ in range(21)] == [0] * 20 + [1]
    assert filling.pick(UNCOUNTED_S, workers, {0, 1}) == 0


def test_what_a_call_costs_is_learned_from_the_calls_so_far():
    cost = CallCost()
    assert cost.mean == FIRST_COST
    for second in range(3600):
        cost.observe(second, [WorkerLoad(80, 0.4), WorkerLoad(0, 0.02)])
    assert 0.005 < cost.mean < 0.006


def test_so_more_calls_that_come_at_once_go_to_one_worker_when_they_are_known_to_be_cheap():
    knowing = balance()
    for second in range(3600):
        knowing.pick(second, [WorkerLoad(80, 0.4), WorkerLoad(0)], {0, 1})
    assert came(knowing, 2, 80, now_s=3610.0) == [80, 0]


@given(st.integers(1, 100), st.integers(1, 400), st.floats(0, 30), st.floats(0.001, FIRST_COST))
@settings(max_examples=30, deadline=None)
def test_calls_whose_load_rises_long_after_they_came_overfill_no_worker(rate, total, silent_s, cost):
    filling, came_s, reported = balance(), [[] for _ in range(8)], [0.0] * 8
    for number in range(total):
        now_s = number / rate
        for worker, own in enumerate(came_s):
            busy = sum(cost if now_s - one_s > silent_s else cost / 5 for one_s in own)
            reported[worker] += (1 - math.exp(-1 / rate / SMOOTHED_S)) * (busy - reported[worker])
        counted = [sum(now_s - one_s > UNCOUNTED_S / 2 for one_s in own) for own in came_s]
        loads = [WorkerLoad(calls, busy) for calls, busy in zip(counted, reported, strict=True)]
        came_s[filling.pick(now_s, loads, range(8))].append(now_s)
    assert max(map(len, came_s)) * cost < 1.2 * max(THRESHOLD, total * cost / 8)


@given(st.lists(st.tuples(st.floats(0, 100), loads), max_size=20))
def test_a_call_costs_something_between_the_guess_and_what_was_measured(observed):
    cost, now_s, measured = CallCost(), 0.0, [FIRST_COST]
    for passed_s, workers in observed:
        now_s += passed_s
        cost.observe(now_s, workers)
        measured += [worker.busy / worker.calls for worker in workers if worker.calls]
    assert min(measured) * 0.999 <= cost.mean <= max(measured) * 1.001
