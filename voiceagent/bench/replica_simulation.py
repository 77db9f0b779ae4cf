"""`voiceagent bench replicas`: calls over many replicas of an LLM, simulated by discrete events.

What routing does to caches and waits: requests go where the server's own policy sends them, or anywhere. A
replica reads one prompt after the other, writes for all at once, and keeps what it has read of the calls that
were there last. Prefill while speaking, priority classes and admission control are left out: every turn is
one request, and every call is taken.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Literal

from llmcore.policies.session_affinity import Choice, SessionAffinity
from voiceagent.validation.errors import CommandFailed

Routing = Literal["affinity", "random"]


@dataclass(frozen=True, slots=True)
class Load:
    """What calls bring: `calls` of them, begun at random times so that about `at_once` go on together.

    call_s: their mean length. pause_s: between the end of an answer and the next request of its call.
    turn_tokens: by which a prompt grows a turn, beside the beginning that all prompts share. reply_tokens: of
    an answer.
    """

    calls: int
    at_once: int
    call_s: float = 180.0
    pause_s: float = 8.0
    turn_tokens: int = 120
    reply_tokens: int = 40


@dataclass(frozen=True, slots=True)
class Machine:
    """What one replica can: tokens a second that it reads, seconds a token that each answer takes, requests
    at once, and tokens whose KV cache it keeps.
    """

    prefill_tokens_s: float = 40_000.0
    token_s: float = 0.004
    max_running: int = 64
    cache_tokens: int = 400_000


@dataclass(slots=True)
class Outcome:
    """What came of it. cached: prompt tokens a turn that were in the cache, of calls' own words only: what
    all prompts share is found everywhere. read: tokens a turn that were not. ttft_s: of each turn.
    """

    turns: int = 0
    cached: int = 0
    read: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    ttft_s: list[float] = field(default_factory=list)

    @property
    def same_replica(self) -> float:
        """Part of the requests after a call's first that went where the one before them did, 0 to 1."""
        later = self.turns - self.reasons["placed"]
        return self.reasons["kept"] / later if later else 1.0

    def figures(self) -> dict[str, float]:
        """What is told of it: tokens a turn, and times to first token in milliseconds."""
        ordered = sorted(self.ttft_s)
        return {
            "turns": self.turns,
            "same replica %": round(100 * self.same_replica, 2),
            "cached tokens a turn": round(self.cached / self.turns),
            "read tokens a turn": round(self.read / self.turns),
            "moved": self.reasons["moved"],
            "ttft p50 ms": round(1000 * ordered[len(ordered) // 2], 1),
            "ttft p95 ms": round(1000 * ordered[int(len(ordered) * 0.95)], 1),
        }


class Replica:
    """One replica: when it is free to read, and the tokens that it keeps of each call, the latest last."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._free_s = 0.0
        self._kept: OrderedDict[int, int] = OrderedDict()
        self._total = 0

    def read(self, call: int, tokens: int, now_s: float) -> tuple[int, float]:
        """Read a call's prompt of so many tokens; how many of them it had, and the time to first token."""
        had = min(self._kept.pop(call, 0), tokens)
        begun_s = max(now_s, self._free_s)
        self._free_s = begun_s + (tokens - had) / self._machine.prefill_tokens_s
        self._kept[call] = tokens
        self._total += tokens - had
        while self._total > self._machine.cache_tokens and len(self._kept) > 1:
            self._total -= self._kept.popitem(last=False)[1]
        return had, self._free_s - now_s + self._machine.token_s

    def lose(self) -> None:
        """It is gone, with all that it kept."""
        self._kept.clear()
        self._total = 0


class Simulation:
    """Runs calls over `replicas` machines. lost_s: for how long the first of them is away, in mid-run."""

    def __init__(
        self,
        load: Load,
        machine: Machine,
        replicas: int,
        routing: Routing,
        seed: int = 1,
        lost_s: float = 0.0,
    ) -> None:
        self._load, self._machine, self._routing = load, machine, routing
        self._random = random.Random(seed)
        self._replicas = {f"replica {index}": Replica(machine) for index in range(replicas)}
        self._usable = set(self._replicas)
        self._affinity = SessionAffinity(tuple(self._replicas), machine.max_running)
        self._last: dict[int, str] = {}
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self.outcome = Outcome()
        self._begin(lost_s)

    def run(self) -> Outcome:
        """Until the last call is over."""
        while self._events:
            now_s, _, happen = heapq.heappop(self._events)
            happen(now_s)
        return self.outcome

    def _begin(self, lost_s: float) -> None:
        rate = self._load.at_once / self._load.call_s
        at_s = 0.0
        for call in range(self._load.calls):
            at_s += self._random.expovariate(rate)
            until_s = at_s + self._random.expovariate(1 / self._load.call_s)
            self._at(at_s, partial(self._ask, call, 0, until_s))
        if lost_s and len(self._replicas) > 1:
            self._at(at_s / 2, self._lose)
            self._at(at_s / 2 + lost_s, lambda _: self._usable.add("replica 0"))

    def _at(self, at_s: float, happen: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._order), happen))

    def _lose(self, _: float) -> None:
        self._usable.discard("replica 0")
        self._replicas["replica 0"].lose()

    def _ask(self, call: int, turn: int, until_s: float, now_s: float) -> None:
        choice = self._choose(call, self._usable, now_s)
        tokens = self._load.turn_tokens * (turn + 1)
        had, ttft_s = self._replicas[choice.replica].read(call, tokens, now_s)
        outcome = self.outcome
        outcome.turns += 1
        outcome.cached += had
        outcome.read += tokens - had
        outcome.reasons[choice.reason] += 1
        outcome.ttft_s.append(ttft_s)
        self._affinity.opened(choice.replica)
        over_s = now_s + ttft_s + self._load.reply_tokens * self._machine.token_s
        self._at(over_s, lambda _: self._affinity.closed(choice.replica))
        next_s = over_s + self._random.expovariate(1 / self._load.pause_s)
        if next_s < until_s:
            self._at(next_s, partial(self._ask, call, turn + 1, until_s))
        else:
            self._last.pop(call, None)

    def _choose(self, call: int, usable: Set[str], now_s: float) -> Choice:
        if self._routing == "affinity":
            choice = self._affinity.choose(str(call), usable, now_s)
            assert choice is not None  # one is lost at most
            return choice
        replica = self._random.choice(sorted(usable))
        before = self._last.get(call)
        self._last[call] = replica
        return Choice(replica, "placed" if before is None else "kept" if before == replica else "spilled")


def report(load: Load, machine: Machine, replicas: int, lost_s: float) -> None:
    """Print what both ways of routing come to, in turn. Raises CommandFailed for what cannot be simulated."""
    if min(load.calls, load.at_once, replicas) < 1 or machine.prefill_tokens_s <= 0:
        raise CommandFailed("allowed: --calls, --at-once, --replicas and --prefill-tokens-s above 0")
    routings: tuple[Routing, ...] = ("affinity", "random")
    outcomes = {
        routing: Simulation(load, machine, replicas, routing, lost_s=lost_s).run().figures()
        for routing in routings
    }
    print(f"{'':22}{'affinity':>12}{'random':>12}")
    for name in outcomes["affinity"]:
        print(f"{name:22}{outcomes['affinity'][name]:>12,}{outcomes['random'][name]:>12,}")
