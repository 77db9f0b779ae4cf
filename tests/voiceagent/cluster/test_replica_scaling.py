"""Wanted number of replicas for Ray Serve."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from clock import Clock
from redis_server import RedisServer, redis_server

pytest.importorskip("redis", reason="Redis' client is not installed: pip install -e '.[cluster]'")

from redis import Redis

from voiceagent.cluster import replica_scaling
from voiceagent.cluster.placing import GatewayReport
from voiceagent.cluster.redis_keys import GATEWAYS, report_key
from voiceagent.cluster.replica_scaling import RETRY_AFTER_S, ReplicasForCalls
from voiceagent.cluster.shared_state import READ_S

ONE = GatewayReport("one", "https://one", "ready", True, 10, 100, 100, 1.0, 80.0)


class Context(NamedTuple):
    target_num_replicas: int


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    monkeypatch.setattr(replica_scaling, "TIMEOUT_S", 20.0)
    with redis_server(tmp_path) as running:
        yield running


def tell(server: RedisServer, **calls: int) -> None:
    client = Redis.from_url(server.url)
    for name, count in calls.items():
        report = replace(ONE, name=name, calls=count)
        client.set(report_key(name), json.dumps(report.to_json()))
        client.sadd(GATEWAYS, name)


def test_replicas_are_for_the_calls_of_all_gateways_and_those_in_reserve(server: RedisServer) -> None:
    clock = Clock()
    policy = ReplicasForCalls(server.url, 10, reserve_calls=5, clock=clock)
    tell(server, one=7, other=9)
    assert policy(Context(1)) == (3, {})
    tell(server, other=14)
    assert policy(Context(1)) == (3, {}), "Redis is not asked at every step of the controller"
    clock.now_s += READ_S
    assert policy(Context(1)) == (3, {})
    tell(server, other=19)
    clock.now_s += READ_S
    assert policy(Context(1)) == (4, {})


def test_one_replica_is_left_where_nobody_calls(server: RedisServer) -> None:
    assert ReplicasForCalls(server.url, 10, reserve_calls=0, clock=Clock())(Context(3)) == (1, {})


def test_while_redis_is_lost_there_are_as_many_as_there_were(server: RedisServer) -> None:
    clock = Clock()
    policy = ReplicasForCalls(server.url, 10, reserve_calls=0, clock=clock)
    tell(server, one=25)
    server.stop()
    assert policy(Context(2)) == (2, {})
    server.start()
    tell(server, one=25)
    assert policy(Context(2)) == (2, {}), "it is left alone for a while"
    clock.now_s += RETRY_AFTER_S
    assert policy(Context(2)) == (3, {})


def test_a_replica_for_no_calls_is_refused() -> None:
    with pytest.raises(ValueError, match="calls_a_replica = 0: allowed: more than 0"):
        ReplicasForCalls("redis://127.0.0.1:1/0", 0)
