"""Two gateways share a Redis, which goes away and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fault_calls import FaultCaller, bystander, calling, counted, until_healthy
from faulty_server import FaultyServer, faulty_server_beside
from redis_server import RedisServer, redis_server
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

pytest.importorskip(
    "redis", reason="Redis' client is not installed: pip install 'voiceagent-server[cluster]'"
)

Gateways = tuple[RedisServer, FaultyServer, FaultyServer]


@pytest.fixture
async def gateways(tmp_path: Path) -> AsyncIterator[Gateways]:
    """One of one process, one of two workers."""
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    with redis_server(tmp_path) as redis:

        def sharing(text: str) -> str:
            return f'{text}\n[cluster]\nredis_url = "{redis.url}"\n'

        async with (
            faulty_server_beside(tmp_path / "one", change=sharing) as one,
            faulty_server_beside(tmp_path / "other", "", "--workers", "2", change=sharing) as other,
        ):
            yield redis, one, other


async def posted(server: FaultyServer, path: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as http:
        return await http.post(f"http://{server.address}/v1/realtime/{path}", json={})


async def hung_up(server: FaultyServer, call_id: str) -> None:
    """Ask until the place of the call is known."""
    async with asyncio.timeout(20):
        while (await posted(server, f"calls/{call_id}/hangup")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def until_known_elsewhere(server: FaultyServer, call_id: str) -> None:
    """Open sidebands until the server knows that another gateway has the call."""
    async with asyncio.timeout(20):
        while True:
            with pytest.raises(InvalidStatus) as refused:
                await connect(f"ws://{server.address}/v1/realtime?call_id={call_id}", proxy=None)
            if refused.value.response.status_code == 421:
                assert b"cluster.gateway_url_env" in refused.value.response.body
                return
            assert refused.value.response.status_code == 404
            await asyncio.sleep(0.05)


async def test_gateways_share_callers_and_losing_redis_ends_no_call(gateways: Gateways) -> None:
    redis, one, other = gateways
    secret = (await posted(one, "client_secrets")).json()["value"]
    url = f"ws://{other.address}/v1/realtime?model=x"
    async with connect(url, additional_headers={"Authorization": f"Bearer {secret}"}, proxy=None) as ws:
        caller = FaultCaller(ws)
        call_id = (await caller.until("session.created"))["session"]["id"]
        await until_known_elsewhere(one, call_id)
        await hung_up(one, call_id)
        with pytest.raises(ConnectionClosed):
            await caller.until("never")
    async with bystander(one.address), calling(other.address) as caller:
        redis.stop()
        assert set((await until_healthy(one.address, "degraded"))["degraded"]) == {"shared_state"}
        assert set((await until_healthy(other.address, "degraded"))["degraded"]) == {"shared_state"}
        assert await counted(one.address, "voiceagent_shared_state_failures_total")
        async with calling(one.address) as new:
            assert await new.turn() == "completed"
        assert await caller.turn() == "completed"
        redis.start()
        await until_healthy(one.address)
        await until_healthy(other.address)
        assert await caller.turn() == "completed"
    assert "Traceback" not in one.log + other.log
