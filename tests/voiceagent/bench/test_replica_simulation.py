from __future__ import annotations

import random

import pytest

from voiceagent.bench.replica_simulation import (
    Load,
    Machine,
    Outcome,
    Promise,
    Replica,
    Routing,
    Simulation,
    Troubles,
)
from voiceagent.cli.main import main

LOAD = Load(calls=600, at_once=60)
READ_S = 100 / Machine().prefill_tokens_s


def outcome(routing: Routing, lost_s: float = 0.0, deploy_s: float = 0.0) -> Outcome:
    troubles = Troubles(lost_s, deploy_s)
    return Simulation(LOAD, Machine(cache_tokens=60_000), 4, routing, troubles=troubles).run()


def test_a_call_finds_twice_the_cache_of_random_routing() -> None:
    ours, anywhere = outcome("affinity"), outcome("random")
    assert ours.same_replica == 1.0
    assert ours.cached / ours.turns > 2 * anywhere.cached / anywhere.turns


def test_all_calls_go_on_when_a_replica_is_lost() -> None:
    lost = outcome("affinity", lost_s=60.0)
    assert lost.reasons["placed"] == LOAD.calls
    assert lost.reasons["moved"] > 0
    assert lost.same_replica > 0.98


def test_a_deploy_moves_every_call_that_goes_on_and_ends_none() -> None:
    deployed = outcome("affinity", deploy_s=30.0)
    assert deployed.refused == 0
    assert deployed.reasons["placed"] == LOAD.calls
    assert deployed.reasons["moved"] > outcome("affinity", lost_s=30.0).reasons["moved"]


def test_calls_are_refused_beyond_what_is_promised_and_the_others_answered() -> None:
    slow = Machine(prefill_tokens_s=900.0)
    taken, all_calls = (
        Simulation(LOAD, slow, 2, "affinity", promise=promise).run()
        for promise in (Promise(), Promise(max_ttft_s=1e9, ttft_budget_s=1e9))
    )
    assert 0 < taken.refused < LOAD.calls and all_calls.refused == 0
    assert max(taken.ttft_s) < max(all_calls.ttft_s)


def test_a_day_has_a_busy_middle() -> None:
    at_s = list(Load(calls=2_000, at_once=60, by_day=True).arrivals(random.Random(1)))
    middle = [each for each in at_s if 0.25 < each / at_s[-1] < 0.75]
    assert len(middle) > 0.65 * len(at_s)


def test_the_same_seed_gives_the_same_outcome() -> None:
    assert outcome("affinity", 60.0) == outcome("affinity", 60.0)


def test_a_replica_reads_what_it_does_not_keep() -> None:
    replica = Replica(Machine())
    assert replica.read(1, 100, 0.0)[0] == 0
    assert replica.read(1, 250, 9.0)[0] == 100
    replica.lose()
    assert replica.read(1, 250, 18.0)[0] == 0


def test_a_full_cache_gives_up_the_call_that_was_longest_away() -> None:
    replica = Replica(Machine(cache_tokens=250))
    for call in (1, 2, 1, 3):
        replica.read(call, 100, 0.0)
    assert replica.read(1, 100, 0.0)[0] == 100
    assert replica.read(2, 100, 0.0)[0] == 0


def test_prompts_are_read_one_after_the_other() -> None:
    replica, machine = Replica(Machine()), Machine()
    assert replica.read(1, 100, 0.0)[1] == pytest.approx(READ_S + machine.token_s)
    assert replica.read(2, 100, 0.0)[1] == pytest.approx(2 * READ_S + machine.token_s)


def test_the_command_tells_both_ways_of_routing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "replicas", "--calls", "50", "--at-once", "10"]) == 0
    assert "affinity" in (told := capsys.readouterr().out) and "same replica %" in told
    assert main(["bench", "replicas", "--replicas", "0"]) == 1
    assert "allowed" in capsys.readouterr().err
