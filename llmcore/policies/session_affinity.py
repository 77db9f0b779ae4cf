"""Replica selection: a session stays at the replica that holds its KV cache.

A session is placed by consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, "Consistent
Hashing with Bounded Loads", SODA 2018): no replica has more than `BALANCE` times the mean. Afterwards it
stays there. If the chosen replica is over its bound, the one that holds most of the prompt's prefix is next:
an agent's instructions, or turns of this call that it served earlier.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, NamedTuple

from llmcore.policies.served_prefixes import BlockHashes, PrefixSnapshot, ServedPrefixes

BALANCE = 1.25
"""Largest ratio of a replica's sessions to the mean. A smaller one moves more sessions off their place."""
POINTS = 64
"""Points of each replica on the ring: with these, shares of the ring differ by at most an eighth."""
IDLE_S = 900.0
"""Time without a request after which a session has ended or its cache was evicted."""

Reason = Literal["placed", "kept", "moved", "spilled"]
"""placed: first request. kept: at the replica with the session's cache. moved: permanently, as its replica
was lost. spilled: once, as its replica is full.
"""


class Choice(NamedTuple):
    """A replica for a request, and the reason."""

    replica: str
    reason: Reason


@dataclass(slots=True)
class _Session:
    replica: str
    used_s: float


class SessionAffinity:
    """Placement of sessions and number of open requests. Times are seconds of one clock.

    replicas: their names. max_running: open requests at which a replica is full.
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
        """Return the number of sessions placed at a replica."""
        return self._placed[replica]

    def choose(
        self,
        key: str,
        usable: Set[str],
        now_s: float,
        avoid: Set[str] = frozenset(),
        prompt: BlockHashes = (),
    ) -> Choice | None:
        """Choose the replica for a request of session `key` ("" for no session), or None if none is left.

        avoid: replicas that already refused or failed this request. prompt: its block hashes.
        """
        self._remove_idle(now_s)
        candidates = usable - avoid
        if not candidates:
            return None
        if not key:
            # no cache anywhere: the least loaded replica
            return Choice(min(self._ring_order(key, candidates), key=self._open.__getitem__), "placed")
        session = self._sessions.get(key)
        if session is None or session.replica not in usable:
            return self._place(key, candidates, now_s, prompt)
        session.used_s = now_s
        self._sessions.move_to_end(key)
        if session.replica in candidates and not self._full(session.replica):
            return Choice(session.replica, "kept")
        others = [replica for replica in self._ring_order(key, candidates) if replica != session.replica]
        with_room = [replica for replica in others if not self._full(replica)]
        # all are full: waiting at its own replica costs less than a full prefill elsewhere
        if session.replica in candidates and not with_room:
            return Choice(session.replica, "kept")
        return Choice(self._longest_cached(with_room or others, prompt), "spilled")

    def open_request(self, replica: str, prompt: BlockHashes = ()) -> PrefixSnapshot:
        """Count a request sent to the replica. Return the prompt's state for `record_read`."""
        self._open[replica] += 1
        return self._served[replica].snapshot(prompt)

    def record_read(self, replica: str, snapshot: PrefixSnapshot, cached: float) -> None:
        """Record a completed prefill.

        cached: share of the prompt that the replica reports as cached, 0 to 1.
        """
        self._served[replica].record_read(snapshot, cached)

    def close_request(self, replica: str) -> None:
        """Count a request as finished."""
        self._open[replica] -= 1

    def forget_replica(self, replica: str) -> None:
        """Forget the cache of a replica that was lost."""
        self._served[replica] = ServedPrefixes()

    def _place(self, key: str, usable: Set[str], now_s: float, prompt: BlockHashes) -> Choice:
        reason: Reason = "moved" if key in self._sessions else "placed"
        self._remove(key)
        bound = math.ceil(BALANCE * (len(self._sessions) + 1) / len(usable))
        # At least one is under the bound: otherwise they would hold more sessions than exist.
        replica, *others = self._ring_order(key, usable)
        if self._placed[replica] >= bound:
            replica = self._longest_cached([name for name in others if self._placed[name] < bound], prompt)
        self._sessions[key] = _Session(replica, now_s)
        self._placed[replica] += 1
        return Choice(replica, reason)

    def _longest_cached(self, replicas: Sequence[str], prompt: BlockHashes) -> str:
        """Return the replica with the longest cached prefix of a prompt; the first of equals."""
        return max(replicas, key=lambda replica: self._served[replica].known_blocks(prompt))

    def _remove(self, key: str) -> None:
        if (session := self._sessions.pop(key, None)) is not None:
            self._placed[session.replica] -= 1

    def _full(self, replica: str) -> bool:
        return self._open[replica] >= self._max_running

    def _ring_order(self, key: str, usable: Set[str]) -> Iterator[str]:
        """Yield the usable replicas in ring order from the key's point, which never changes."""
        start, seen = bisect(self._ring, (_point(key), "")), set[str]()
        for step in range(len(self._ring)):
            _, name = self._ring[(start + step) % len(self._ring)]
            if name not in seen:
                seen.add(name)
                if name in usable:
                    yield name
                if len(seen) == self._count:
                    return

    def _remove_idle(self, now_s: float) -> None:
        while self._sessions:
            key, session = next(iter(self._sessions.items()))
            if now_s - session.used_s < IDLE_S:
                return
            self._remove(key)


def _point(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())
