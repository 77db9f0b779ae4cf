"""Connection to an optional Redis: short timeouts, and a pause after it is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import structlog
from prometheus_client import CollectorRegistry
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout
from voiceagent.telemetry.metric_table import new_counter

log = structlog.get_logger()

TIMEOUT_S = 0.25
"""Timeout of a request. New calls wait for it; a healthy Redis takes a millisecond."""
RETRY_AFTER_S = 1.0
"""Pause after a failure, so that new calls do not each wait for the timeout."""
PING_AFTER_S = 5.0
"""Time without a message after which the listener pings its connection."""

Answer = TypeVar("Answer")


class RedisLink:
    """Connections to Redis. Raises ValueError for an invalid `url`."""

    def __init__(self, url: str, password: str | None, registry: CollectorRegistry) -> None:
        given: dict[str, Any] = {} if password is None else {"password": password}
        self._redis: Redis = Redis.from_url(url, socket_connect_timeout=TIMEOUT_S, retry=None, **given)
        self._retry_at_s = 0.0
        self._failures = new_counter("shared_state_failures", registry)
        self.problem = ""
        """Reason why nothing is shared now; "" if Redis works."""

    async def request(self, request: Callable[[Redis], Awaitable[Answer]], otherwise: Answer) -> Answer:
        """Return Redis' answer to `request`; `otherwise` if it fails, or failed a moment ago."""
        if self.problem and time.monotonic() < self._retry_at_s:
            return otherwise
        try:
            async with PauseTolerantTimeout(TIMEOUT_S):
                answer = await request(self._redis)
        except (RedisError, OSError, TimeoutError) as error:
            self._on_failure(error)
            return otherwise
        if self.problem:
            log.warning("shared_state_recovered")
            self.problem = ""
        return answer

    async def listen(self, channels: tuple[str, ...], on_message: Callable[[bytes], None]) -> None:
        """Pass on all messages of these channels until cancelled. Messages published while Redis
        is lost are missed.
        """
        while True:
            subscription = self._redis.pubsub()
            try:
                await subscription.subscribe(*channels)
                await _pass_on_messages(subscription, on_message)
            except (RedisError, OSError, TimeoutError):
                pass  # the next request reports it
            finally:
                with suppress(RedisError, OSError):
                    await subscription.aclose()  # type: ignore[no-untyped-call]  # untyped in the client
            await asyncio.sleep(RETRY_AFTER_S)

    async def close(self) -> None:
        with suppress(RedisError, OSError):
            await self._redis.aclose()

    def _on_failure(self, error: Exception) -> None:
        self._retry_at_s = time.monotonic() + RETRY_AFTER_S
        self._failures.inc()
        reason = str(error) or "nothing came in time"
        if not self.problem:
            log.error("shared_state_lost", reason=reason)
        self.problem = f"Redis does not answer: {reason}"


async def _pass_on_messages(subscription: PubSub, on_message: Callable[[bytes], None]) -> None:
    """Pass on messages until the connection is dead. Raises RedisError, OSError."""
    quiet = 0
    while quiet < 2:  # a pong is a message, too
        message = await subscription.get_message(timeout=PING_AFTER_S)
        quiet = quiet + 1 if message is None else 0
        if message is None:
            await subscription.ping()
        elif message["type"] == "message":
            on_message(message["data"])


async def cancel_and_wait(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks that talk to Redis, and wait for them.

    Redis' client may swallow a cancellation that coincides with a timeout, so they are cancelled repeatedly.
    """
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=TIMEOUT_S)
