"""Which replica of an engine answers a request: the one that has the KV cache of its session. Pure.

A session is placed by consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent
Hashing with Bounded Loads", SODA 2018): no replica has more than `BALANCE` times the mean. Then it stays.
Where that replica is over its bound, of the others the one that has most of the prompt's beginning is next:
an agent's instructions, or what it read of this call when it took one of its requests before.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

from llmcore.policies.served_prefixes import Marks, Reading, ServedPrefixes

BALANCE = 1.25
"""How many times the mean a replica's sessions may be: with less, more of them leave the place that their key
gives them."""
POINTS = 64
"""Points of each replica on the ring: with these, their parts of it are alike within an eighth."""
IDLE_S = 900.0
"""A session without a request for this long is over, or its cache has gone."""

Reason = Literal["placed", "kept", "moved", "spilled"]
"""A first request; one where the session's cache is; one where it is from now on, as its replica was lost;
one that goes elsewhere once, as its replica is full.
"""


class Choice(NamedTuple):
    """A replica for a request, and why that one."""

    replica: str
    reason: Reason


@dataclass(slots=True)
class _Session:
    replica: str
    used_s: float


class SessionAffinity:
    """Knows where each session is and how many requests are open. Times are seconds of one clock.

    replicas: their names. max_running: requests that one of them computes at once; with as many open it is
    full.
    """

    def __init__(self, replicas: Sequence[str], max_running: int) -> None:
        self._ring = sorted((_point(f"{name} {index}"), name) for name in replicas for index in range(POINTS))
        self._count = len(replicas)
        self._max_running = max_running
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._placed: Counter[str] = Counter()
        self._open: Counter[str] = Counter()
        self._served = {name: ServedPrefixes() for name in replicas}

    def sessions(self, replica: str) -> int:
        """The sessions whose cache a replica has."""
        return self._placed[replica]

    def choose(
        self, key: str, usable: Set[str], now_s: float, avoid: Set[str] = frozenset(), prompt: Marks = ()
    ) -> Choice | None:
        """Where a request of the session `key` goes, "" being nobody's; None where it can go nowhere.

        avoid: replicas that have refused this request, or failed it. prompt: what it asks to be read.
        """
        self._forget(now_s)
        left = usable - avoid
        if not left:
            return None
        if not key:
            # it has no cache anywhere: the one with the least to do
            return Choice(min(self._in_order(key, left), key=self._open.__getitem__), "placed")
        session = self._sessions.get(key)
        if session is None or session.replica not in usable:
            return self._place(key, left, now_s, prompt)
        session.used_s = now_s
        self._sessions.move_to_end(key)
        if session.replica in left and not self._full(session.replica):
            return Choice(session.replica, "kept")
        others = [replica for replica in self._in_order(key, left) if replica != session.replica]
        with_room = [replica for replica in others if not self._full(replica)]
        # all are full: waiting at its own costs less than reading everything elsewhere
        if session.replica in left and not with_room:
            return Choice(session.replica, "kept")
        return Choice(self._having_most(with_room or others, prompt), "spilled")

    def opened(self, replica: str, prompt: Marks = ()) -> Reading:
        """A request has been sent there; gives what `read` is to be told."""
        self._open[replica] += 1
        return self._served[replica].reading(prompt)

    def read(self, replica: str, reading: Reading, cached: float) -> None:
        """It has read its prompt. cached: the part that it says it had, 0 to 1."""
        self._served[replica].read(reading, cached)

    def closed(self, replica: str) -> None:
        """It is over."""
        self._open[replica] -= 1

    def lost(self, replica: str) -> None:
        """It has gone, and its cache with it."""
        self._served[replica] = ServedPrefixes()

    def _place(self, key: str, usable: Set[str], now_s: float, prompt: Marks) -> Choice:
        reason: Reason = "moved" if key in self._sessions else "placed"
        self._end(key)
        bound = math.ceil(BALANCE * (len(self._sessions) + 1) / len(usable))
        # One has room: if none had, they would have more sessions together than there are.
        replica, *others = self._in_order(key, usable)
        if self._placed[replica] >= bound:
            replica = self._having_most([name for name in others if self._placed[name] < bound], prompt)
        self._sessions[key] = _Session(replica, now_s)
        self._placed[replica] += 1
        return Choice(replica, reason)

    def _having_most(self, replicas: Sequence[str], prompt: Marks) -> str:
        """The one that has most of a prompt's beginning, the first of those that have as much."""
        return max(replicas, key=lambda replica: self._served[replica].matched(prompt))

    def _end(self, key: str) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._placed[session.replica] -= 1

    def _full(self, replica: str) -> bool:
        return self._open[replica] >= self._max_running

    def _in_order(self, key: str, usable: Set[str]) -> Iterator[str]:
        """The usable replicas in the order that the ring gives them for a key, which is always the same."""
        start, seen = bisect(self._ring, (_point(key), "")), set[str]()
        for step in range(len(self._ring)):
            _, name = self._ring[(start + step) % len(self._ring)]
            if name not in seen:
                seen.add(name)
                if name in usable:
                    yield name
                if len(seen) == self._count:
                    return

    def _forget(self, now_s: float) -> None:
        while self._sessions:
            key, session = next(iter(self._sessions.items()))
            if now_s - session.used_s < IDLE_S:
                return
            self._end(key)


def _point(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
