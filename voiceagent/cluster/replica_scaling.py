"""Autoscaling of the LLM's replicas in Ray Serve, by calls instead of requests.

A call is in a request for a few tenths of a second in ten, so requests in flight fluctuate where calls do
not, and every call will make more. Replicas follow calls, plus a reserve for those that begin while a replica
starts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from redis import Redis
from redis.exceptions import RedisError

from voiceagent.cluster.placing import needed
from voiceagent.cluster.redis_keys import GATEWAYS, read_reports, report_key
from voiceagent.cluster.shared_state import READ_S

TIMEOUT_S = 0.25
"""Timeout of a Redis request, for which Ray Serve's controller waits."""
RETRY_AFTER_S = 5.0
"""Pause after Redis failed."""


class Scaled(Protocol):
    """The part of Ray Serve's `AutoscalingContext` that is used."""

    target_num_replicas: int


class ReplicasForCalls:
    """An autoscaling policy for Ray Serve: replicas = ceil((calls + reserve) / calls_a_replica).

    redis_url: `[cluster] redis_url` of the gateways, which report their calls there twice a second.
    password_env: environment variable with its password, "" for none. While Redis is lost the number of
    replicas does not change; Ray's own limits and delays apply as always. clock: monotonic seconds.
    """

    def __init__(
        self,
        redis_url: str,
        calls_a_replica: float,
        reserve_calls: int = 10,
        password_env: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if calls_a_replica <= 0:
            raise ValueError(f"calls_a_replica = {calls_a_replica:g}: allowed: more than 0")
        password = os.environ[password_env] if password_env else None
        self._redis = Redis.from_url(
            redis_url, password=password, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S
        )
        self._each, self._reserve, self._clock = calls_a_replica, reserve_calls, clock
        self._calls: int | None = None
        self._read_at_s = clock()

    def __call__(self, context: Scaled) -> tuple[int, dict[str, Any]]:
        """Return the number of replicas, and an empty policy state."""
        if self._clock() >= self._read_at_s:
            self._read_calls()
        if self._calls is None:
            return context.target_num_replicas, {}
        return needed(self._calls, self._reserve, self._each), {}

    def _read_calls(self) -> None:
        try:
            names = [name.decode() for name in self._redis.smembers(GATEWAYS)]  # type: ignore[union-attr]
            reports: Any = self._redis.mget([report_key(name) for name in names]) if names else []
        except (RedisError, OSError):
            self._calls, again_s = None, RETRY_AFTER_S
        else:
            self._calls, again_s = sum(one.calls for one in read_reports(reports)), READ_S
        self._read_at_s = self._clock() + again_s
