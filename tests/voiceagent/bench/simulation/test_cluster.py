from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from replicas import main
from simulation.cluster import Cluster, Outcome, Routing, Simulation
from simulation.gateway import Promise
from simulation.load import Load, Troubles
from simulation.replica import Machine

LOAD = Load(calls=300, at_once=60)
SMALL = Cluster(4, Machine(cache_tokens=60_000))
FOR_ALL = Promise(max_ttft_s=1e9, ttft_budget_s=1e9)


@cache
def outcome(routing: Routing = "affinity", lost_s: float = 0.0, deploy_s: float = 0.0) -> Outcome:
    return Simulation(LOAD, replace(SMALL, routing=routing), Troubles(lost_s, deploy_s)).run()


def cached(ran: Outcome) -> float:
    return ran.cached.total() / ran.turns


def test_a_call_finds_twice_the_cache_of_random_routing() -> None:
    ours, anywhere = outcome("affinity"), outcome("random")
    assert ours.same_replica == 1.0
    assert cached(ours) > 2 * cached(anywhere)


def test_what_spills_finds_more_by_its_prompt_than_along_the_ring() -> None:
    load = Load(calls=500, at_once=120, agents=20, agent_tokens=2_000)
    machine = Machine(token_s=0.02, max_running=8, cache_tokens=60_000)
    by_prompt, by_ring = (
        Simulation(load, Cluster(4, machine, routing=routing, promise=FOR_ALL)).run()
        for routing in ("affinity", "ring")
    )
    assert by_ring.reasons["spilled"] > 100
    found = [ran.cached["spilled"] / ran.reasons["spilled"] for ran in (by_prompt, by_ring)]
    assert found[0] > 1.2 * found[1]
    assert cached(by_prompt) > cached(by_ring)


def test_all_calls_go_on_when_a_replica_is_lost() -> None:
    lost = outcome(lost_s=60.0)
    assert lost.reasons["placed"] == LOAD.calls
    assert lost.reasons["moved"] > 0
    assert lost.same_replica > 0.98


def test_a_deploy_moves_every_call_that_goes_on_and_ends_none() -> None:
    deployed = outcome(deploy_s=30.0)
    assert deployed.refused == 0
    assert deployed.reasons["placed"] == LOAD.calls
    assert deployed.reasons["moved"] > outcome(lost_s=30.0).reasons["moved"]


def test_calls_are_refused_beyond_what_is_promised_and_the_others_answered() -> None:
    slow = Cluster(2, Machine(prefill_tokens_s=900.0))
    taken, all_calls = (
        Simulation(LOAD, replace(slow, promise=promise)).run() for promise in (Promise(), FOR_ALL)
    )
    assert 0 < taken.refused < LOAD.calls and all_calls.refused == 0
    assert max(taken.ttft_s) < max(all_calls.ttft_s)


def test_no_gateway_has_more_calls_than_it_may() -> None:
    few, enough = (
        Simulation(LOAD, replace(SMALL, gateways=gateways, promise=Promise(max_calls=20))).run()
        for gateways in (2, 5)
    )
    assert few.refused > enough.refused


def test_every_request_is_answered_to_its_end() -> None:
    ran = outcome(lost_s=60.0)
    assert ran.turns == len(ran.ttft_s) == len(ran.answer_s)
    assert all(whole > first for first, whole in zip(sorted(ran.ttft_s), sorted(ran.answer_s), strict=True))


def test_answers_stand_still_while_prompts_are_read_beside_them() -> None:
    whole_s = Machine().token_s * LOAD.reply_tokens
    busy, idle = (
        Simulation(LOAD, Cluster(1, Machine(prefill_tokens_s=rate), promise=FOR_ALL)).run()
        for rate in (4_000.0, 1e9)
    )
    assert max(idle.answer_s) == pytest.approx(whole_s, rel=1e-3)
    assert max(each - first for each, first in zip(busy.answer_s, busy.ttft_s, strict=True)) > whole_s


def test_what_writes_apart_never_stands_still() -> None:
    machine = Machine(prefill_tokens_s=4_000.0)
    apart = Simulation(LOAD, Cluster(3, machine, prefill=1, promise=FOR_ALL)).run()
    together = Simulation(LOAD, Cluster(3, machine, promise=FOR_ALL)).run()
    written_s = (LOAD.reply_tokens - 1) * machine.token_s
    waits = sum(apart.answer_s) - sum(apart.ttft_s)
    assert waits == pytest.approx(apart.turns * written_s)
    assert sum(together.answer_s) - sum(together.ttft_s) > together.turns * written_s
    assert sum(apart.ttft_s) / apart.turns > sum(together.ttft_s) / together.turns


def test_the_same_seed_gives_the_same_outcome() -> None:
    assert Simulation(LOAD, SMALL, Troubles(60.0, 0.0)).run() == outcome(lost_s=60.0)


def test_calls_of_other_names_are_the_same_calls_at_other_replicas() -> None:
    cluster = replace(SMALL, machine=Machine(prefill_tokens_s=4_000.0), promise=FOR_ALL)
    one, other = (Simulation(LOAD, cluster, placing=placing).run() for placing in (0, 1))
    assert one.turns == pytest.approx(other.turns, rel=0.01)
    assert one.ttft_s != other.ttft_s


def test_the_command_tells_both_ways_beside_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--calls", "50", "--at-once", "10"]
    assert main(few) == 0
    assert "ring" in (told := capsys.readouterr().out) and "same replica %" in told
    assert main([*few, "--prefill-replicas", "1"]) == 0
    assert "together" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (("--replicas", "0"), "--replicas"),
        (("--prefill-replicas", "4"), "--prefill-replicas 4: allowed: 0 to 3"),
    ],
)
def test_what_cannot_be_simulated_is_refused(
    wrong: tuple[str, str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*wrong]) == 1
    assert named in capsys.readouterr().err
