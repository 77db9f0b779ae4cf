"""Placement of the next call among gateways, and the number of gateways needed.

By the number of calls and the lag of the event loops. CPU time is no measure: a lagging gateway may have some
left, and a calm one none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

LAG_SHARE_AT_CAPACITY = 0.5
"""A gateway whose loop lag exceeds this share of the limit is taken to be at capacity."""
MIN_UTILIZATION_GAP = 0.1
"""A call is redirected only to a gateway utilized this much less: reports may be half a second old."""


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """Report of a gateway.

    url: where clients and phone providers reach it alone, "" if they do not. state, takes_calls, calls,
    max_calls, loop_lag_ms, predicted_ttft_ms: as in `GET /load`. capacity: maximum calls it can carry.
    """

    name: str
    url: str
    state: str
    takes_calls: bool
    calls: int
    max_calls: int
    capacity: int
    loop_lag_ms: float
    predicted_ttft_ms: float

    @property
    def utilization(self) -> float:
        """Calls as a share of the capacity."""
        return self.calls / self.capacity

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def report(name: str, url: str, load: Mapping[str, Any], max_lag_s: float) -> GatewayReport:
    """Return a gateway's report from the body of its `GET /load`.

    max_lag_s: event loop lag from which it refuses calls. Raises KeyError if the body lacks a figure.
    """
    known = {field.name for field in fields(GatewayReport)} & load.keys()
    held = capacity(load["calls"], load["max_calls"], load["loop_lag_ms"] / 1000, max_lag_s)
    return GatewayReport(name=name, url=url, capacity=held, **{key: load[key] for key in known})


def from_json(body: Mapping[str, Any]) -> GatewayReport:
    """Return another gateway's report, maybe of another version. Raises TypeError if fields are missing."""
    known = {field.name for field in fields(GatewayReport)}
    return GatewayReport(**{name: value for name, value in body.items() if name in known})


def capacity(calls: int, max_calls: int, lag_s: float, max_lag_s: float) -> int:
    """Return the maximum calls a gateway can carry, K: its limit, or its current calls if it lags."""
    return max(1, min(calls, max_calls)) if lag_s > LAG_SHARE_AT_CAPACITY * max_lag_s else max_calls


def wanted(reports: Sequence[GatewayReport], reserve: int) -> int:
    """Return how many gateways all calls and `reserve` more need: ceil((calls + reserve) / K).

    K is the mean capacity of the gateways that are ready; 1 if none is.
    """
    ready = [one for one in reports if one.state == "ready"]
    if not ready:
        return 1
    mean = sum(one.capacity for one in ready) / len(ready)
    return needed(sum(one.calls for one in reports), reserve, mean)


def needed(calls: int, reserve: int, each: float) -> int:
    """Return ceil((calls + reserve) / each), at least 1: servers or replicas that carry `each` calls."""
    return max(1, math.ceil((calls + reserve) / each))


def place(
    own: GatewayReport, others: Sequence[GatewayReport], pick: Callable[[int], int]
) -> GatewayReport | None:
    """Return the gateway for the next call: `own`, a less utilized one, or None.

    pick: returns a random number below its argument. The better of two random gateways takes the call: if all
    sent their calls to the emptiest, that would soon be the fullest.
    """
    open_others = [one for one in others if one.takes_calls and one.url and one.name != own.name]
    picked = [open_others.pop(pick(len(open_others))) for _ in range(min(2, len(open_others)))]
    best = min(picked, key=lambda one: one.utilization, default=None)
    if not own.takes_calls:
        return best
    return best if best is not None and best.utilization < own.utilization - MIN_UTILIZATION_GAP else own
