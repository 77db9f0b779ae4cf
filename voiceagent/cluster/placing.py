"""Where the next call goes among gateways, and how many of them are wanted. Pure.

It goes by their calls and the lateness of their event loops. CPU time is no measure: a late gateway may have
some left, and a calm one none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

LATE = 0.5
"""A loop that is late by this part of what it may be has as many calls as it can carry."""
ASIDE = 0.1
"""A call that has come here is not sent on to a gateway that is less full by less than this: what is known of
it may be half a second old.
"""


@dataclass(frozen=True, slots=True)
class GatewayReport:
    """What a gateway tells of itself.

    url: where clients and phone providers reach it alone, "" where they do not. state, takes_calls, calls,
    max_calls, loop_lag_ms, predicted_ttft_ms: as `GET /load` has them. capacity: calls that it can carry.
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
    def fullness(self) -> float:
        """Its calls as a part of those that it can carry."""
        return self.calls / self.capacity

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return asdict(self)


def report(name: str, url: str, load: Mapping[str, Any], max_lag_s: float) -> GatewayReport:
    """The report of a gateway with this body of `GET /load`."""
    known = {field.name for field in fields(GatewayReport)} & load.keys()
    held = capacity(load["calls"], load["max_calls"], load["loop_lag_ms"] / 1000, max_lag_s)
    return GatewayReport(name=name, url=url, capacity=held, **{key: load[key] for key in known})


def from_json(told: Mapping[str, Any]) -> GatewayReport:
    """The report of another gateway, maybe of another version. Raises TypeError where parts are missing."""
    known = {field.name for field in fields(GatewayReport)}
    return GatewayReport(**{name: value for name, value in told.items() if name in known})


def capacity(calls: int, max_calls: int, lag_s: float, max_lag_s: float) -> int:
    """The calls that a gateway can carry, K: as many as it may have, or those that make it late."""
    return max(1, min(calls, max_calls)) if lag_s > LATE * max_lag_s else max_calls


def wanted(reports: Sequence[GatewayReport], reserve: int) -> int:
    """How many gateways all calls and `reserve` more need: ceil((calls + reserve) / K), K being the mean of
    what those can carry that are ready; one where none tells.
    """
    ready = [one for one in reports if one.state == "ready"]
    if not ready:
        return 1
    mean = sum(one.capacity for one in ready) / len(ready)
    return needed(sum(one.calls for one in reports), reserve, mean)


def needed(calls: int, reserve: int, each: float) -> int:
    """Gateways, or replicas, that it takes if one carries `each` calls: ceil((calls + reserve) / each)."""
    return max(1, math.ceil((calls + reserve) / each))


def place(
    own: GatewayReport, others: Sequence[GatewayReport], pick: Callable[[int], int]
) -> GatewayReport | None:
    """Who takes the next call: `own`, another that is less full, or nobody.

    pick: a random number below the one that it is given. The better of two that are picked takes it: if all
    sent their calls to the emptiest, that would be the fullest before anybody knew.
    """
    open_others = [one for one in others if one.takes_calls and one.url and one.name != own.name]
    picked = [open_others.pop(pick(len(open_others))) for _ in range(min(2, len(open_others)))]
    best = min(picked, key=lambda one: one.fullness, default=None)
    if not own.takes_calls:
        return best
    return best if best is not None and best.fullness < own.fullness - ASIDE else own
