"""State that gateways share in Redis: client secrets, callers' calls and failed authentications, locations of
calls.

Every entry expires, and is renewed by the gateway that it belongs to: a killed gateway is forgotten within
`LEASE_S`, and an emptied Redis is filled again by the next beat.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, cast

import structlog
from redis.asyncio import Redis
from redis.asyncio.client import Pipeline

from voiceagent.access.caller_counts import MINUTE_S, digest
from voiceagent.access.client_secrets import ClientSecret, ClientSecrets
from voiceagent.cluster.placing import GatewayReport, place
from voiceagent.cluster.redis_keys import (
    ADD_CALL,
    ALL_GATEWAYS,
    COUNT_WRONG_KEY,
    GATEWAYS,
    CallControl,
    call_gateway_key,
    caller_key,
    client_secret_key,
    control_key,
    gateway_channel,
    read_reports,
    report_key,
    wrong_keys_key,
)
from voiceagent.cluster.redis_link import RedisLink, cancel_and_wait

log = structlog.get_logger()

BEAT_S = 0.5
"""Interval at which a gateway writes changes and its report."""
LEASE_S = 30.0
"""Lifetime of a gateway's entries after it is gone: three renewals."""
RENEW_S = 10.0
REPORT_LASTS_S = 3.0
"""Time without a report after which a gateway counts as gone."""
READ_S = 1.0
"""Interval at which all reports are read."""
MAX_BLOCKED = 10_000
"""Maximum blocked addresses; beyond that the oldest is unblocked."""

_NO_LIMIT = 1 << 31


class SharedState:
    """Shared state of one process: the `OtherGateways` of access control.

    name: unique name of this process. secrets: the client secrets accepted here.
    """

    def __init__(self, link: RedisLink, name: str, secrets: ClientSecrets) -> None:
        self.name = name
        self._link = link
        self._secrets = secrets
        self._wake = asyncio.Event()
        self._calls: Callable[[], Iterable[str]] = tuple
        self._own_report: Callable[[], GatewayReport] | None = None
        self._published_calls: set[str] = set()
        self._leases: dict[str, list[str]] = {}
        self._pending_writes: list[Callable[[Pipeline], Any]] = []
        self._blocked: dict[str, float] = {}
        self._renewed_s: float | None = None
        self._read_s: float | None = None
        self._count = 0
        self.reports: tuple[GatewayReport, ...] = ()
        """Reports of all gateways, this one too, at most 1.5 s old; empty while Redis is lost."""

        self.control_of: Callable[[str], CallControl] = lambda call_id: CallControl()
        """Return the `CallControl` of a call of this process. Set before `running`."""

    @property
    def problem(self) -> str:
        """Reason why nothing is shared now; "" if Redis works."""
        return self._link.problem

    # ---- callers

    async def keep_secret(self, secret: ClientSecret) -> None:
        await self._link.request(lambda redis: self._write_secret(redis, secret), None)

    async def find_secret(self, key: str) -> ClientSecret | None:
        async def find(redis: Redis) -> Any:
            place, pipe = client_secret_key(key), redis.pipeline(transaction=True)
            pipe.get(place)
            pipe.pttl(place)
            return await pipe.execute()

        found, left_ms = await self._link.request(find, (None, 0))
        if found is None:
            return None
        kept = json.loads(found)
        # By Redis' clock: the issuing gateway's may differ from this one's.
        return ClientSecret(key, kept["expires_s"], kept["session"], time.monotonic() + left_ms / 1000)

    async def acquire(self, names: Mapping[str, int]) -> str | Callable[[], None]:
        if not names:
            return lambda: None
        self._count += 1
        call, places = f"{self.name}/{self._count}", [caller_key(name) for name in names]
        arguments: list[str | int] = [*places, call, round(LEASE_S * 1000), *names.values()]
        full = await self._link.request(lambda redis: redis.eval(ADD_CALL, len(places), *arguments), 0)
        if full:
            return list(names)[int(full) - 1]
        self._leases[call] = places

        def release() -> None:
            if self._leases.pop(call, None) is not None:
                self._write(lambda pipe: [pipe.zrem(place, call) for place in places])

        return release

    def note_wrong_key(self, address: str, max_a_minute: int) -> None:
        named = f"{digest(address):x}"
        arguments = (wrong_keys_key(named), round(MINUTE_S * 1000), max_a_minute, ALL_GATEWAYS, named)
        self._write(lambda pipe: pipe.eval(COUNT_WRONG_KEY, 1, *arguments))

    def blocked(self, address: str) -> bool:
        return time.monotonic() < self._blocked.get(f"{digest(address):x}", 0.0)

    # ---- calls

    def calls_changed(self) -> None:
        """Publish the calls of this gateway now: one has begun or ended."""
        self._wake.set()

    async def hang_up(self, call_id: str) -> bool:
        """End a call in another process; return False if none has it."""
        place: Any = await self._link.request(lambda redis: redis.get(call_gateway_key(call_id)), None)
        if place is None:
            return False
        channel, text = gateway_channel(place.decode()), json.dumps({"hang_up": call_id})
        return bool(await self._link.request(lambda redis: redis.publish(channel, text), 0))

    async def sideband_url(self, call_id: str, secret: str) -> str | None:
        """Return the URL of the gateway that has a call, "" if that has none of its own. Return None for an
        unknown call, or one that the caller may not control. secret: SHA-256 of the caller's client secret,
        "" for an owner.
        """
        text: Any = await self._link.request(lambda redis: redis.get(control_key(call_id)), None)
        if text is None:
            return None
        control = CallControl(*json.loads(text))
        return control.url if secret in ("", control.secret) else None

    def place(self, url: str, takes_calls: bool) -> GatewayReport | None:
        """Return the gateway for the next call; None if none is known.

        url: of this gateway. takes_calls: whether it accepts calls.
        """
        own = next((one for one in self.reports if one.url == url), None)
        if own is None:
            return None
        chosen = place(replace(own, takes_calls=takes_calls), self.reports, random.randrange)
        if chosen is not None:  # count the call until the next reading
            more = replace(chosen, calls=chosen.calls + 1)
            self.reports = tuple(more if one.name == more.name else one for one in self.reports)
        return chosen

    # ---- lifecycle

    @asynccontextmanager
    async def running(
        self,
        calls: Callable[[], Iterable[str]],
        end: Callable[[str], bool],
        tell: Callable[[], GatewayReport] | None = None,
    ) -> AsyncIterator[None]:
        """Exchange state with the other processes for the length of the block; in the end, withdraw this
        process.

        calls: returns the ids of calls in progress here. end: ends one by its id. tell: returns this
        gateway's report; None in a worker process of a gateway.
        """
        self._calls, self._own_report = calls, tell

        def take(message: bytes) -> None:
            self._on_message(message, end)

        channels = (ALL_GATEWAYS, gateway_channel(self.name))
        listening = asyncio.create_task(self._link.listen(channels, take), name="cluster: listen")
        beating = asyncio.create_task(self._beat_forever(), name="cluster: beat")
        try:
            yield
        finally:
            await cancel_and_wait(listening, beating)
            await self._link.request(self._withdraw, None)
            await self._link.close()

    async def _beat_forever(self) -> None:
        while True:
            await self._beat()
            with suppress(TimeoutError):
                async with asyncio.timeout(BEAT_S):
                    await self._wake.wait()
            self._wake.clear()

    def _write(self, add: Callable[[Pipeline], Any]) -> None:
        self._pending_writes.append(add)
        self._wake.set()

    async def _beat(self) -> None:
        """Write what is new; everything if Redis may have lost it."""
        now_s, written = time.time(), self._pending_writes
        self._pending_writes = []
        renewing = self._renewed_s is None or not 0 <= now_s - self._renewed_s < RENEW_S
        calls = set(self._calls())

        async def write(redis: Redis) -> bool:
            pipe = redis.pipeline(transaction=False)
            if self._own_report is None:
                pipe.ping()
            else:
                text = json.dumps(self._own_report().to_json())
                pipe.set(report_key(self.name), text, px=round(REPORT_LASTS_S * 1000))
                pipe.sadd(GATEWAYS, self.name)
            for add in written:
                add(pipe)
            for call_id in calls if renewing else calls - self._published_calls:
                pipe.set(call_gateway_key(call_id), self.name, px=round(LEASE_S * 1000))
                control = json.dumps(self.control_of(call_id))
                pipe.set(control_key(call_id), control, px=round(LEASE_S * 1000))
            for call_id in self._published_calls - calls:
                pipe.delete(call_gateway_key(call_id), control_key(call_id))
            if renewing:
                self._renew(pipe)
            await pipe.execute()
            return True

        if await self._link.request(write, False):
            self._published_calls = calls
            self._renewed_s = now_s if renewing else self._renewed_s
        else:
            self._renewed_s = None  # Redis may come back empty
            self.reports = ()
        if self._read_s is None or not 0 <= now_s - self._read_s < READ_S:
            self._read_s = now_s
            self.reports = await self._link.request(self._read, ())

    async def _read(self, redis: Redis) -> tuple[GatewayReport, ...]:
        """Return all reports, and remove gateways that are gone."""
        names = sorted(
            name.decode() for name in await cast("Awaitable[set[bytes]]", redis.smembers(GATEWAYS))
        )
        content: list[Any] = await redis.mget([report_key(name) for name in names]) if names else []
        expired = [name for name, text in zip(names, content, strict=True) if text is None]
        if expired:
            await redis.srem(GATEWAYS, *expired)
        return read_reports(content)

    def _renew(self, pipe: Pipeline) -> None:
        for call, places in self._leases.items():
            limits = [_NO_LIMIT] * len(places)
            pipe.eval(ADD_CALL, len(places), *places, call, round(LEASE_S * 1000), *limits)
        for secret in self._secrets.secrets():
            self._write_secret(pipe, secret)

    def _write_secret(self, redis: Redis, secret: ClientSecret) -> Awaitable[Any]:
        left_ms = max(1, round((secret.ends_s - time.monotonic()) * 1000))
        text = json.dumps({"expires_s": secret.expires_s, "session": secret.session})
        return redis.set(client_secret_key(secret.value), text, px=left_ms)

    async def _withdraw(self, redis: Redis) -> None:
        placed = (
            place(call_id) for call_id in self._published_calls for place in (call_gateway_key, control_key)
        )
        await redis.delete(report_key(self.name), *placed)

    def _on_message(self, message: bytes, end: Callable[[str], bool]) -> None:
        try:
            content = json.loads(message)
        except ValueError:
            content = None  # not from a gateway
        match content:
            case {"hang_up": str(call_id)}:
                end(call_id)
            case {"blocked": str(address), "seconds": float(left_s) | int(left_s)}:
                self._blocked[address] = time.monotonic() + left_s
                if len(self._blocked) > MAX_BLOCKED:
                    del self._blocked[next(iter(self._blocked))]
            case _:
                log.warning("cluster_message_invalid", bytes=len(message))
