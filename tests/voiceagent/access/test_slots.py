from __future__ import annotations

import multiprocessing
import tempfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.access.slots import LocalSlots, SharedSlots, lag_refusal
from voiceagent.processes.policies.balance import WorkerLoad

MAX_CALLS = 50


@pytest.fixture
def shared():
    """Makes the slots as one of two workers sees them."""
    with tempfile.TemporaryFile() as file:
        file.truncate(SharedSlots.size(MAX_CALLS, 2))
        yield lambda worker, max_calls=MAX_CALLS: SharedSlots(file.fileno(), max_calls, 2, worker)


def test_a_slot_that_one_worker_takes_is_taken_for_all(shared):
    first, second = shared(0, 1), shared(1, 1)
    assert first.acquire()
    assert not second.acquire()
    assert (second.taken, [worker.calls for worker in second.workers]) == (1, [1, 0])
    first.release()
    assert second.acquire()


def test_the_slots_of_a_worker_that_died_are_free_again(shared):
    first, second = shared(0, 1), shared(1, 1)
    assert first.acquire()
    second.clear(0)
    assert second.acquire()


def test_the_server_is_as_late_as_its_least_late_worker_that_lives(shared):
    first, second = shared(0), shared(1)
    assert first.lag_s == 0
    first.report(0.25, 0.0, 0)
    assert first.lag_s == second.lag_s == 0.25
    second.report(0.125, 0.0, 0)
    assert first.lag_s == second.lag_s == 0.125
    first.clear(1)
    assert (first.lag_s, first.taken) == (0.25, 0)


def test_what_each_worker_has_to_do_is_known_to_all_until_it_dies(shared):
    first, second = shared(0), shared(1)
    assert second.workers == [WorkerLoad(0), WorkerLoad(0)]
    assert first.acquire()
    first.report(0.25, 0.5, 0)
    second.report(0.0, 0.125, 0)
    assert second.workers == [WorkerLoad(1, 0.5, 0.25), WorkerLoad(0, 0.125, 0.0)]
    second.clear(0)
    assert second.workers == [WorkerLoad(0), WorkerLoad(0, 0.125, 0.0)]


def test_workers_that_take_slots_at_once_never_take_too_many(shared):
    context = multiprocessing.get_context("fork")
    took = context.Queue()

    def acquire(slots: SharedSlots) -> None:
        took.put(sum(slots.acquire() for _ in range(MAX_CALLS)))

    workers = [context.Process(target=acquire, args=(shared(worker),)) for worker in range(2)]
    for worker in workers:
        worker.start()
    assert sum(took.get(timeout=60) for _ in workers) == MAX_CALLS
    for worker in workers:
        worker.join()


def test_the_calls_of_a_caller_are_counted_over_all_workers(shared):
    first, second = shared(0).shares, shared(1).shares
    names = {"address 192.0.2.7": 2, "key a": 9}
    over = first.acquire(names)
    assert callable(over)
    assert callable(second.acquire(names))
    assert first.acquire(names) == second.acquire(names) == "address 192.0.2.7"
    assert callable(first.acquire({"address 192.0.2.8": 2, "key a": 9}))
    over()
    over()  # the second time does nothing
    assert callable(second.acquire(names))


def test_the_calls_of_a_worker_that_died_are_no_callers_any_more(shared):
    first, second = shared(0), shared(1)
    assert callable(first.shares.acquire({"key a": 1}))
    assert second.shares.acquire({"key a": 1}) == "key a"
    second.clear(0)
    assert callable(second.shares.acquire({"key a": 1}))


def test_wrong_keys_are_counted_over_all_workers_and_outlive_one(shared):
    first, second = shared(0), shared(1)
    first.wrong_keys.note("192.0.2.7", 1000.0)
    second.wrong_keys.note("192.0.2.7", 1001.0)
    assert first.wrong_keys.blocked("192.0.2.7", 1002.0, 2)
    second.clear(0)
    assert second.wrong_keys.blocked("192.0.2.7", 1002.0, 2)


def test_a_server_alone_counts_its_own_slots():
    slots = LocalSlots(1)
    assert slots.acquire()
    assert not slots.acquire()
    slots.release()
    assert slots.acquire()


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


def test_calls_that_only_transcribe_are_taken_and_not_answered(shared):
    first, second = shared(0), shared(1)
    for slots in (first, first, second):
        assert slots.acquire()
    first.report(0.0, 0.0, 1)
    second.report(0.0, 0.0, 1)
    assert [(slots.taken, slots.answered) for slots in (first, second)] == [(3, 1), (3, 1)]
    second.clear(0)
    assert (second.taken, second.answered) == (1, 0)
