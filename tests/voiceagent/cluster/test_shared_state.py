"""State that gateways share in a Redis, and the fallback when it does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from redis_server import RedisServer, redis_server

from voiceagent.access.client_secrets import ClientSecrets

pytest.importorskip(
    "redis", reason="Redis' client is not installed: pip install 'voiceagent-server[cluster]'"
)

from voiceagent.cluster import redis_link, shared_state
from voiceagent.cluster.placing import GatewayReport
from voiceagent.cluster.redis_keys import CallControl
from voiceagent.cluster.redis_link import RedisLink
from voiceagent.cluster.shared_state import SharedState

TIMEOUT_S = 20.0
NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine's Redis is late, and not lost; one that is away refuses at once."""
    monkeypatch.setattr(redis_link, "TIMEOUT_S", TIMEOUT_S)


class Gateway:
    """One of them, with the calls that go on there."""

    def __init__(self, url: str, name: str) -> None:
        self.registry = CollectorRegistry()
        self.secrets = ClientSecrets(10)
        self.state = SharedState(RedisLink(url, None, self.registry), name, self.secrets)
        self.calls: list[str] = []

    def end(self, call_id: str) -> bool:
        return call_id in self.calls and not self.calls.remove(call_id)

    def failures(self) -> float:
        return self.registry.get_sample_value("voiceagent_shared_state_failures_total") or 0.0


@asynccontextmanager
async def running(*gateways: Gateway, tell: Callable[[], GatewayReport] | None = None) -> AsyncIterator[None]:
    async with AsyncExitStack() as lives:
        for one in gateways:
            await lives.enter_async_context(one.state.running(lambda one=one: one.calls, one.end, tell))
        yield


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(TIMEOUT_S):
        while not holds():  # noqa: ASYNC110 - what another process does has no event
            await asyncio.sleep(0.01)


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as server:
        yield server


@pytest.fixture
async def pair(redis: RedisServer) -> AsyncIterator[tuple[Gateway, Gateway]]:
    one, other = Gateway(redis.url, "one"), Gateway(redis.url, "other")
    async with running(one, other):
        yield one, other


async def test_a_client_secret_is_known_to_all(pair: tuple[Gateway, Gateway]) -> None:
    one, other = pair
    secret = one.secrets.mint({"instructions": "Be brief."}, 60, time.monotonic(), time.time())
    await one.state.keep_secret(secret)

    found = await other.state.find_secret(secret.value)
    assert found == secret
    assert found.ends_s <= time.monotonic() + 60
    assert await other.state.find_secret("ek_unknown") is None


async def test_a_client_secret_ends_by_the_clock_of_redis_whatever_that_of_a_gateway_says(
    pair: tuple[Gateway, Gateway],
) -> None:
    one, other = pair
    slow = one.secrets.mint({}, 1, time.monotonic(), time.time() - 3_600)
    fast = one.secrets.mint({}, 60, time.monotonic(), time.time() + 3_600)
    for secret in (slow, fast):
        await one.state.keep_secret(secret)
    assert await other.state.find_secret(slow.value) == slow
    found = await other.state.find_secret(fast.value)
    assert found is not None
    assert found.ends_s <= time.monotonic() + 60
    async with asyncio.timeout(TIMEOUT_S):
        while await other.state.find_secret(slow.value) is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_the_calls_of_a_caller_are_counted_together(pair: tuple[Gateway, Gateway]) -> None:
    one, other = pair
    names = {"key k": 3, "address a": 2}
    over = await one.state.acquire(names)
    assert not isinstance(over, str)
    assert not isinstance(await other.state.acquire(names), str)

    assert await one.state.acquire(names) == "address a"
    assert not isinstance(await one.state.acquire({"key k": 3}), str)
    over()
    async with asyncio.timeout(TIMEOUT_S):
        while isinstance(await other.state.acquire(names), str):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_call_is_hung_up_wherever_it_is(pair: tuple[Gateway, Gateway]) -> None:
    one, other = pair
    other.calls.append("call_1")
    other.state.calls_changed()
    async with asyncio.timeout(TIMEOUT_S):
        while not await one.state.hang_up("call_1"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    await until(lambda: not other.calls)
    assert not await one.state.hang_up("call_2")


async def test_a_sideband_is_sent_to_the_gateway_that_has_the_call_if_the_caller_may_control_it(
    pair: tuple[Gateway, Gateway],
) -> None:
    one, other = pair
    other.state.control_of = lambda call_id: CallControl("https://other", "5ec2e7")
    other.calls.append("rtc_1")
    other.state.calls_changed()
    async with asyncio.timeout(TIMEOUT_S):
        while await one.state.sideband_url("rtc_1", "") is None:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert await one.state.sideband_url("rtc_1", "5ec2e7") == "https://other"
    assert await one.state.sideband_url("rtc_1", "0the4") is None
    assert await one.state.sideband_url("rtc_2", "") is None


async def test_each_knows_the_reports_of_all_and_places_calls_by_them(redis: RedisServer) -> None:
    full = GatewayReport("one", "https://one", "ready", False, 20, 20, 20, 0.0, 0.0)
    free = replace(full, name="other", url="https://other", takes_calls=True, calls=0)
    one, other = Gateway(redis.url, "one"), Gateway(redis.url, "other")
    async with running(one, tell=lambda: full):
        async with running(other, tell=lambda: free):
            await until(lambda: set(one.state.reports) == {full, free})
            assert one.state.place("https://one", takes_calls=False) == free
            assert other.state.place("https://nowhere", takes_calls=True) is None
        await until(lambda: one.state.reports == (full,))
        assert one.state.place("https://one", takes_calls=False) is None


async def test_wrong_keys_shut_an_address_out_everywhere(
    pair: tuple[Gateway, Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pair
    for gateway in (one, other, one):
        assert not one.state.blocked("203.0.113.9")
        gateway.state.note_wrong_key("203.0.113.9", 3)

    await until(lambda: one.state.blocked("203.0.113.9") and other.state.blocked("203.0.113.9"))
    assert not one.state.blocked("203.0.113.8")
    an_hour_on = time.time() + 3_600.0
    monkeypatch.setattr(time, "time", lambda: an_hour_on)
    assert one.state.blocked("203.0.113.9"), "for a minute, whatever the clock is set to"


async def test_without_redis_nobody_is_refused_and_it_is_told() -> None:
    alone = Gateway(NOWHERE, "alone")
    async with running(alone):
        await alone.state.keep_secret(alone.secrets.mint({}, 60, time.monotonic(), time.time()))
        assert await alone.state.find_secret("ek_1") is None
        assert not isinstance(await alone.state.acquire({"address a": 1}), str)
        assert not isinstance(await alone.state.acquire({"address a": 1}), str)
        assert not await alone.state.hang_up("call_1")
        await until(alone.failures)
        assert "Redis does not answer" in alone.state.problem


async def test_a_redis_that_comes_back_empty_learns_everything_again(redis: RedisServer) -> None:
    async with AsyncExitStack() as closing:
        one, other = Gateway(redis.url, "one"), Gateway(redis.url, "other")
        await closing.enter_async_context(running(one, other))
        secret = one.secrets.mint({}, 60, time.monotonic(), time.time())
        await one.state.keep_secret(secret)
        assert not isinstance(await one.state.acquire({"key k": 1}), str)
        one.calls.append("call_1")
        redis.stop()
        await until(lambda: one.state.problem and other.state.problem)
        redis.start()
        await until(lambda: not one.state.problem and not other.state.problem)

        async with asyncio.timeout(TIMEOUT_S):
            while await other.state.find_secret(secret.value) is None:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert await other.state.acquire({"key k": 1}) == "key k"
        async with asyncio.timeout(TIMEOUT_S):
            while not await other.state.hang_up("call_1"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await until(lambda: not one.calls)


async def test_a_redis_that_answered_while_this_process_was_suspended_is_not_lost(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = RedisLink(redis.url, None, CollectorRegistry())
    assert await link.request(lambda asked: asked.ping(), otherwise=False)
    monkeypatch.setattr(redis_link, "TIMEOUT_S", 1.0)
    asking = asyncio.create_task(
        link.request(lambda asked: asked.blpop("nothing", 0.5), otherwise=("", "lost"))
    )
    for _ in range(10):
        await asyncio.sleep(0)  # until it is asked
    time.sleep(1.5)  # noqa: ASYNC251
    assert await asking is None
    assert not link.problem
    await link.close()


async def test_what_a_killed_gateway_wrote_ends_by_itself(
    redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_state, "LEASE_S", 0.2)
    killed, other = Gateway(redis.url, "killed"), Gateway(redis.url, "other")
    assert not isinstance(await killed.state.acquire({"key k": 1}), str)  # it never renews this
    async with running(other), asyncio.timeout(TIMEOUT_S):
        while isinstance(await other.state.acquire({"key k": 1}), str):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    with suppress(ConnectionError):
        await killed.state._link.close()
