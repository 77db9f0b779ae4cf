"""How many replicas of the LLM Ray Serve runs: by the calls that go on, not by the requests of a moment.

A call asks for a few tenths of a second in ten, so that open requests swing where calls do not, and a call
that has begun will ask again: replicas follow calls, with those in reserve that may begin while one starts.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, Protocol

from redis import Redis
from redis.exceptions import RedisError

from voiceagent.cluster.places import GATEWAYS, read_reports, report_place
from voiceagent.cluster.placing import needed
from voiceagent.cluster.shared_state import READ_S

PATIENCE_S = 0.25
"""How long Redis may take: Ray Serve's controller waits for it."""
AGAIN_S = 5.0
"""How long a lost Redis is not asked."""


class Scaled(Protocol):
    """Ray Serve's `AutoscalingContext`, as far as it is looked at."""

    target_num_replicas: int


class ReplicasForCalls:
    """An autoscaling policy of Ray Serve: replicas = ceil((calls + reserve) / calls_a_replica).

    redis_url: `[cluster] redis_url` of the gateways, where each tells its calls twice a second. password_env:
    the variable with its password, "" where there is none. While Redis is lost the number stays as it is;
    Ray's own limits and delays hold as always. clock: monotonic seconds.
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
            redis_url, password=password, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S
        )
        self._each, self._reserve, self._clock = calls_a_replica, reserve_calls, clock
        self._calls: int | None = None
        self._ask_from_s = clock()

    def __call__(self, context: Scaled) -> tuple[int, dict[str, Any]]:
        """The replicas that are wanted now, and nothing to keep in mind."""
        if self._clock() >= self._ask_from_s:
            self._ask()
        if self._calls is None:
            return context.target_num_replicas, {}
        return needed(self._calls, self._reserve, self._each), {}

    def _ask(self) -> None:
        try:
            names = [name.decode() for name in self._redis.smembers(GATEWAYS)]  # type: ignore[union-attr]
            told: Any = self._redis.mget([report_place(name) for name in names]) if names else []
        except (RedisError, OSError):
            self._calls, again_s = None, AGAIN_S
        else:
            self._calls, again_s = sum(one.calls for one in read_reports(told)), READ_S
        self._ask_from_s = self._clock() + again_s
