from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from llmcore.policies.circuit_breaker import Backoff, CircuitBreaker


def breaker(failures: int = 3) -> CircuitBreaker:
    return CircuitBreaker(failures, Backoff(1.0, 8.0), random=lambda: 1.0)


def tripped() -> CircuitBreaker:
    """Open until second 1."""
    circuit = breaker(1)
    assert circuit.allows(0.0)
    circuit.record_failure(0.0)
    return circuit


def test_failures_in_a_row_open_it():
    circuit = breaker(3)
    for _ in range(2):
        circuit.record_failure(0.0)
    assert circuit.state == "closed"
    circuit.record_failure(0.0)
    assert circuit.state == "open"
    assert not circuit.allows(0.5)


def test_a_success_between_them_does_not():
    circuit = breaker(2)
    circuit.record_failure(0.0)
    circuit.record_success()
    circuit.record_failure(0.0)
    assert circuit.state == "closed"


def test_after_the_wait_one_request_tries_the_engine():
    circuit = tripped()
    assert circuit.wait_s(0.0) == 1.0
    assert circuit.allows(1.0)
    assert circuit.state == "half_open"
    assert not circuit.allows(1.0)


def test_a_trial_that_succeeds_closes_it():
    circuit = tripped()
    circuit.allows(1.0)
    circuit.record_success()
    assert circuit.state == "closed"
    assert circuit.allows(1.0)


def test_a_trial_that_fails_opens_it_for_twice_as_long():
    circuit = tripped()
    circuit.allows(1.0)
    circuit.record_failure(1.0)
    assert circuit.state == "open"
    assert circuit.wait_s(1.0) == 2.0


def test_a_trial_that_was_given_up_leaves_it_to_the_next_request():
    circuit = tripped()
    circuit.allows(1.0)
    circuit.record_cancelled()
    assert circuit.state == "open"
    assert circuit.allows(1.0)


def test_failures_of_requests_from_before_it_opened_do_not_prolong_it():
    circuit = tripped()
    circuit.record_failure(0.9)
    assert circuit.allows(1.0)


@given(st.lists(st.tuples(st.sampled_from(["ok", "fail", "abandon"]), st.floats(0, 5)), max_size=60))
def test_it_is_never_closed_to_requests_for_ever(steps):
    circuit = breaker(2)
    now_s = 0.0
    for outcome, after_s in steps:
        now_s += after_s
        if not circuit.allows(now_s):
            continue
        if outcome == "ok":
            circuit.record_success()
        elif outcome == "fail":
            circuit.record_failure(now_s)
        else:
            circuit.record_cancelled()
    assert circuit.allows(now_s + 8.0)


BACKOFF = Backoff(base_s=0.5, max_s=4.0)


def test_the_ceiling_doubles_up_to_the_most() -> None:
    waits = [BACKOFF.wait_s(failures, lambda: 1.0) for failures in range(1, 7)]
    assert waits == [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]


def test_the_wait_is_a_random_part_of_the_ceiling() -> None:
    assert BACKOFF.wait_s(2, lambda: 0.25) == 0.25


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0, 100))
def test_the_wait_is_never_less_than_the_server_asked_for(failures: int, part: float, asked_s: float) -> None:
    assert BACKOFF.wait_s(failures, lambda: part, asked_s) >= asked_s
