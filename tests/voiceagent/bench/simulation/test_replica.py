from __future__ import annotations

import pytest
from simulation.replica import Machine, Replica

READ_S = 100 / Machine().prefill_tokens_s


def test_a_replica_reads_what_it_does_not_keep() -> None:
    replica = Replica(Machine())
    assert replica.read([("a call", 100)], 0.0)[0] == 0
    assert replica.read([("a call", 250)], 9.0)[0] == 100
    replica.lose()
    assert replica.read([("a call", 250)], 18.0)[0] == 0


def test_an_agents_words_are_found_by_all_its_calls() -> None:
    replica = Replica(Machine())
    replica.read([("agent", 200), ("a call", 100)], 0.0)
    assert replica.read([("agent", 200), ("another", 50)], 0.0)[0] == 200
    assert replica.read([("another agent", 200), ("a third", 50)], 0.0)[0] == 0


def test_an_agents_words_stay_longer_than_those_behind_them() -> None:
    replica = Replica(Machine(cache_tokens=200))
    replica.read([("agent", 100), ("a call", 100)], 0.0)
    replica.read([("", 0), ("no agent", 50)], 0.0)
    assert replica.read([("agent", 100), ("a call", 100)], 0.0)[0] == 150


def test_a_full_cache_gives_up_the_call_that_was_longest_away() -> None:
    replica = Replica(Machine(cache_tokens=250))
    for call in "ABAC":
        replica.read([(call, 100)], 0.0)
    assert replica.read([("A", 100)], 0.0)[0] == 100
    assert replica.read([("B", 100)], 0.0)[0] == 50, "the beginning is kept, the end given up"


def test_prompts_are_read_one_after_the_other() -> None:
    replica = Replica(Machine())
    assert replica.read([("A", 100)], 0.0)[1] == pytest.approx(READ_S)
    assert replica.read([("B", 100)], 0.0)[1] == pytest.approx(2 * READ_S)


def test_answers_stand_still_while_it_reads_and_no_longer() -> None:
    replica = Replica(Machine())
    replica.read([("A", 200)], 1.0)
    assert replica.stood_still_s(1.0) == pytest.approx(0)
    assert replica.stood_still_s(1.0 + READ_S) == pytest.approx(READ_S)
    assert replica.stood_still_s(99.0) == pytest.approx(2 * READ_S)


def test_answers_beside_each_other_are_slower_by_what_the_machine_says() -> None:
    replica = Replica(Machine(token_s=0.004, beside_s=0.001))
    replica.writing = 3
    assert replica.token_s() == pytest.approx(0.007)
