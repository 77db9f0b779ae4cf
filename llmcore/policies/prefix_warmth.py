"""When the prompt that calls share is read again, lest a cache with a time to live forgets it. Pure.

Reading costs a tenth of the price of the tokens and begins their time to live anew; to write them again costs
a quarter more than their price. So reading for an hour costs as much as one more first caller who waits for
the writing (5 minutes to live; 12 readings): beyond that nobody is likely to come.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Prefix = TypeVar("Prefix", bound=Hashable)

MARGIN = 0.1
"""A prefix is read again when this part of its time to live is left: the request itself takes time."""
KEPT = 32
"""Prefixes that are kept in mind: more than the agents of one server."""


@dataclass(slots=True)
class _Warmth:
    used_s: float
    read_s: float
    callers: set[str] = field(default_factory=set)


class PrefixWarmth(Generic[Prefix]):
    """Times are seconds of one clock. keep_s: how long after its last use a prefix is kept warm.

    Only what two callers have used is: what is said to one alone is of no use to another.
    """

    def __init__(self, ttl_s: float, keep_s: float) -> None:
        self._every_s = ttl_s * (1 - MARGIN)
        self._keep_s = keep_s
        self._known: OrderedDict[Prefix, _Warmth] = OrderedDict()

    def used(self, prefix: Prefix, caller: str, now_s: float) -> None:
        """A request of this caller begins with it: it is in the cache now."""
        warmth = self._known.pop(prefix, None) or _Warmth(now_s, now_s)
        warmth.used_s = warmth.read_s = now_s
        if len(warmth.callers) < 2:
            warmth.callers.add(caller)
        self._known[prefix] = warmth
        if len(self._known) > KEPT:
            self._known.popitem(last=False)

    def due_s(self) -> float | None:
        """When the next prefix is to be read again; None where none is."""
        return min((warmth.read_s + self._every_s for warmth in self._kept().values()), default=None)

    def take_due(self, now_s: float) -> list[Prefix]:
        """The prefixes that are to be read again now; they count as read."""
        due = [prefix for prefix, warmth in self._kept().items() if warmth.read_s + self._every_s <= now_s]
        for prefix in due:
            self._known[prefix].read_s = now_s
        return due

    def _kept(self) -> dict[Prefix, _Warmth]:
        """The prefixes that two callers have used, and that will not have been unused for too long then."""
        return {
            prefix: warmth
            for prefix, warmth in self._known.items()
            if len(warmth.callers) > 1 and warmth.read_s + self._every_s <= warmth.used_s + self._keep_s
        }
