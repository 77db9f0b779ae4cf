"""A Redis that nobody depends on: asked with little patience, and left alone for a while when it is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import structlog
from prometheus_client import CollectorRegistry, Counter
from redis.asyncio import Redis
from redis.asyncio.client import PubSub
from redis.exceptions import RedisError

from llmcore.serving.pause_tolerant_timeout import PauseTolerantTimeout

log = structlog.get_logger()

PATIENCE_S = 0.25
"""How long an answer may take: a caller's first word waits for it, and a Redis that is well takes a
millisecond."""
AGAIN_S = 1.0
"""How long a lost Redis is not asked: calls that begin meanwhile need not each wait for it."""
QUIET_S = 5.0
"""After how long without a message the listener asks whether its connection still stands."""

Answer = TypeVar("Answer")


class RedisLink:
    """The connections. Raises ValueError for a `url` that is none."""

    def __init__(
        self,
        url: str,
        password: str | None,
        registry: CollectorRegistry,
    ) -> None:
        given: dict[str, Any] = {} if password is None else {"password": password}
        self._redis: Redis = Redis.from_url(url, socket_connect_timeout=PATIENCE_S, retry=None, **given)
        self._asked_from_s = 0.0
        self._failures = Counter(
            "voiceagent_shared_state_failures",
            "Requests that the Redis of the cluster did not answer.",
            registry=registry,
        )
        self.trouble = ""
        """Why nothing is shared now; "" where it is."""

    async def ask(self, request: Callable[[Redis], Awaitable[Answer]], otherwise: Answer) -> Answer:
        """What Redis answers; `otherwise` where it does not, or has not a moment ago."""
        if self.trouble and time.monotonic() < self._asked_from_s:
            return otherwise
        try:
            async with PauseTolerantTimeout(PATIENCE_S):
                answer = await request(self._redis)
        except (RedisError, OSError, TimeoutError) as error:
            self._lose(error)
            return otherwise
        if self.trouble:
            log.warning("shared_state_is_back")
            self.trouble = ""
        return answer

    async def listen(self, channels: tuple[str, ...], take: Callable[[bytes], None]) -> None:
        """Hand over all that is published in these channels, until cancelled; what comes while Redis is lost
        never comes.
        """
        while True:
            heard = self._redis.pubsub()
            try:
                await heard.subscribe(*channels)
                await _hand_over(heard, take)
            except (RedisError, OSError, TimeoutError):
                pass  # the next request tells of it
            finally:
                with suppress(RedisError, OSError):
                    await heard.aclose()  # type: ignore[no-untyped-call]  # Redis' client does not say
            await asyncio.sleep(AGAIN_S)

    async def close(self) -> None:
        """Close the connections."""
        with suppress(RedisError, OSError):
            await self._redis.aclose()

    def _lose(self, error: Exception) -> None:
        self._asked_from_s = time.monotonic() + AGAIN_S
        self._failures.inc()
        reason = str(error) or "nothing came in time"
        if not self.trouble:
            log.error("shared_state_is_lost", reason=reason)
        self.trouble = f"Redis does not answer: {reason}"


async def _hand_over(heard: PubSub, take: Callable[[bytes], None]) -> None:
    """Until the connection is none any more. Raises RedisError, OSError."""
    quiet = 0
    while quiet < 2:  # the answer to a ping is a message, too
        message = await heard.get_message(timeout=QUIET_S)
        quiet = quiet + 1 if message is None else 0
        if message is None:
            await heard.ping()
        elif message["type"] == "message":
            take(message["data"])


async def ended(*tasks: asyncio.Task[None]) -> None:
    """End tasks that talk to Redis. Its client may swallow a cancellation that meets a time-out: then they
    are cancelled again.
    """
    while running := [task for task in tasks if not task.done()]:
        for task in running:
            task.cancel()
        await asyncio.wait(running, timeout=PATIENCE_S)
