"""Schedule for re-reading shared prompt prefixes before their cache entries expire.

A cache read costs a tenth of the tokens' price and restarts their time to live; writing them again costs a
quarter more than their price. With a time to live of 5 minutes, an hour of reads (12) costs as much as one
more write, which a first caller would wait for. Past that hour another caller is unlikely.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Prefix = TypeVar("Prefix", bound=Hashable)

MARGIN = 0.1
"""Share of the time to live left when a prefix is read again; the request itself takes time."""
MAX_PREFIXES = 32
"""Prefixes remembered: more than one server has agents."""


@dataclass(slots=True)
class _Usage:
    used_s: float
    read_s: float
    callers: set[str] = field(default_factory=set)


class PrefixWarmth(Generic[Prefix]):
    """Prefixes to keep warm, those used by at least two callers. Text sent to one caller is of no use to
    others.

    keep_s: time after its last use for which a prefix is kept warm. Times are seconds of one clock.
    """

    def __init__(self, ttl_s: float, keep_s: float) -> None:
        self._interval_s = ttl_s * (1 - MARGIN)
        self._keep_s = keep_s
        self._usages: OrderedDict[Prefix, _Usage] = OrderedDict()

    def record_use(self, prefix: Prefix, caller: str, now_s: float) -> None:
        """Record that a request of this caller begins with the prefix, which is cached now."""
        usage = self._usages.pop(prefix, None) or _Usage(now_s, now_s)
        usage.used_s = usage.read_s = now_s
        if len(usage.callers) < 2:
            usage.callers.add(caller)
        self._usages[prefix] = usage
        if len(self._usages) > MAX_PREFIXES:
            self._usages.popitem(last=False)

    def due_s(self) -> float | None:
        """Return the time of the next read, or None if no prefix is kept warm."""
        return min(
            (usage.read_s + self._interval_s for usage in self._worth_keeping().values()), default=None
        )

    def pop_due(self, now_s: float) -> list[Prefix]:
        """Return the prefixes to read now, and mark them as read."""
        due = [
            prefix
            for prefix, usage in self._worth_keeping().items()
            if usage.read_s + self._interval_s <= now_s
        ]
        for prefix in due:
            self._usages[prefix].read_s = now_s
        return due

    def _worth_keeping(self) -> dict[Prefix, _Usage]:
        """Return the prefixes of two or more callers whose next read is due within `keep_s` of their last."""
        return {
            prefix: usage
            for prefix, usage in self._usages.items()
            if len(usage.callers) > 1 and usage.read_s + self._interval_s <= usage.used_s + self._keep_s
        }
