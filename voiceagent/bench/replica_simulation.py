"""`voiceagent bench replicas`: calls over many replicas of an LLM, simulated by discrete events.

What routing does to caches and waits: requests go where the server's own policy sends them, or anywhere. A
replica reads one prompt after the other, writes for all at once, and keeps what it has read of the calls that
were there last. Calls are refused by the server's own admission control and load shedding. Prefill while
speaking and priority classes are left out: every turn is one request.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Literal

from llmcore.policies.admission import AdmissionControl
from llmcore.policies.load_shedding import LoadShedder, SheddingLevel
from llmcore.policies.session_affinity import Choice, SessionAffinity
from voiceagent.validation.errors import CommandFailed

Routing = Literal["affinity", "random"]
SAMPLE_S = 1.0
"""So often admission control and load shedding look, as in a server."""
DAY = 0.8
"""Part of the mean by which the calls of the busiest hour exceed it, and those of the quietest fall short."""


@dataclass(frozen=True, slots=True)
class Load:
    """What calls bring: `calls` of them, begun at random times so that about `at_once` go on together.

    call_s: their mean length. pause_s: between the end of an answer and the next request of its call.
    turn_tokens: by which a prompt grows a turn, beside the beginning that all prompts share. reply_tokens: of
    an answer. by_day: calls come as over a day, from its quietest hour to that again.
    """

    calls: int
    at_once: int
    call_s: float = 180.0
    pause_s: float = 8.0
    turn_tokens: int = 120
    reply_tokens: int = 40
    by_day: bool = False

    def arrivals(self, random: random.Random) -> Iterator[float]:
        """When calls begin, in seconds: a Poisson process."""
        mean, length_s, at_s = self.at_once / self.call_s, self.calls * self.call_s / self.at_once, 0.0
        for _ in range(self.calls):
            swing = -DAY * math.cos(2 * math.pi * at_s / length_s) if self.by_day else 0.0
            at_s += random.expovariate(mean * (1 + swing))
            yield at_s


@dataclass(frozen=True, slots=True)
class Troubles:
    """lost_s: for how long the first replica is away, in mid-run. deploy_s: the same for each in turn, before
    that: it takes no requests, ends those that are open, and comes back empty.
    """

    lost_s: float = 0.0
    deploy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Promise:
    """`[priority]` and `[budget]` of the gateways: see there."""

    max_utilization: float = 0.8
    max_ttft_s: float = 1.0
    ttft_budget_s: float = 0.3


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
    refused: int = 0
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
            "calls refused": self.refused,
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

    def wait_s(self, now_s: float) -> float:
        """How long a prompt that came now would wait."""
        return max(0.0, self._free_s - now_s)

    def lose(self) -> None:
        """It is gone, with all that it kept."""
        self._kept.clear()
        self._total = 0


_NONE, _USUAL = Troubles(), Promise()


class Simulation:
    """Runs calls over `replicas` machines. troubles: what befalls them. promise: beyond which calls are
    refused.
    """

    def __init__(
        self,
        load: Load,
        machine: Machine,
        replicas: int,
        routing: Routing,
        seed: int = 1,
        troubles: Troubles = _NONE,
        promise: Promise = _USUAL,
    ) -> None:
        self._load, self._machine, self._routing = load, machine, routing
        self._random = random.Random(seed)
        self._replicas = {f"replica {index}": Replica(machine) for index in range(replicas)}
        self._usable = set(self._replicas)
        self._affinity = SessionAffinity(tuple(self._replicas), machine.max_running)
        max_running = machine.max_running * replicas
        self._admission = AdmissionControl(max_running, promise.max_utilization, promise.max_ttft_s)
        self._shedder, self._promise = LoadShedder(), promise
        self._calls = self._running = 0
        self._last: dict[int, str] = {}
        self._events: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self.outcome = Outcome()
        self._begin(troubles)

    def run(self) -> Outcome:
        """Until the last call is over."""
        while self._events:
            now_s, _, happen = heapq.heappop(self._events)
            happen(now_s)
        return self.outcome

    def _begin(self, troubles: Troubles) -> None:
        last_s = 0.0
        for call, at_s in enumerate(self._load.arrivals(self._random)):
            until_s = at_s + self._random.expovariate(1 / self._load.call_s)
            self._at(at_s, partial(self._arrive, call, until_s))
            last_s = at_s
        self._at(0.0, partial(self._sample, last_s))
        if len(self._replicas) > 1:
            for index, name in enumerate(self._replicas):
                self._away(name, last_s / 4 + index * troubles.deploy_s, troubles.deploy_s)
            self._away("replica 0", last_s / 2, troubles.lost_s)

    def _away(self, name: str, from_s: float, seconds: float) -> None:
        if seconds:
            self._at(from_s, partial(self._lose, name))
            self._at(from_s + seconds, lambda _: self._usable.add(name))

    def _at(self, at_s: float, happen: Callable[[float], None]) -> None:
        heapq.heappush(self._events, (at_s, next(self._order), happen))

    def _lose(self, name: str, _: float) -> None:
        self._usable.discard(name)
        self._replicas[name].lose()

    def _predicted_ttft_s(self, now_s: float) -> float:
        waits = [self._replicas[name].wait_s(now_s) for name in self._usable]
        return sum(waits) / len(waits) + self._load.turn_tokens / self._machine.prefill_tokens_s

    def _sample(self, until_s: float, now_s: float) -> None:
        self._admission.observe(now_s, self._running, self._calls)
        self._shedder.observe(now_s, self._predicted_ttft_s(now_s), self._promise.ttft_budget_s)
        if now_s < until_s:
            self._at(now_s + SAMPLE_S, partial(self._sample, until_s))

    def _arrive(self, call: int, until_s: float, now_s: float) -> None:
        shed = self._calls > 0 and self._shedder.level >= SheddingLevel.REFUSE_CALLS
        if shed or self._admission.decide(self._calls, self._predicted_ttft_s(now_s)) is not None:
            self.outcome.refused += 1
            return
        self._calls += 1
        self._ask(call, 0, until_s, now_s)

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
        self._running += 1
        over_s = now_s + ttft_s + self._load.reply_tokens * self._machine.token_s
        self._at(over_s, partial(self._answered, choice.replica))
        next_s = over_s + self._random.expovariate(1 / self._load.pause_s)
        if next_s < until_s:
            self._at(next_s, partial(self._ask, call, turn + 1, until_s))
        else:
            self._last.pop(call, None)
            self._calls -= 1

    def _answered(self, replica: str, _: float) -> None:
        self._affinity.closed(replica)
        self._running -= 1

    def _choose(self, call: int, usable: Set[str], now_s: float) -> Choice:
        if self._routing == "affinity":
            choice = self._affinity.choose(str(call), usable, now_s)
            assert choice is not None  # one is lost at most
            return choice
        replica = self._random.choice(sorted(usable))
        before = self._last.get(call)
        self._last[call] = replica
        return Choice(replica, "placed" if before is None else "kept" if before == replica else "spilled")


def report(load: Load, machine: Machine, replicas: int, troubles: Troubles) -> None:
    """Print what both ways of routing come to, in turn. Raises CommandFailed for what cannot be simulated."""
    if min(load.calls, load.at_once, replicas) < 1 or machine.prefill_tokens_s <= 0:
        raise CommandFailed("allowed: --calls, --at-once, --replicas and --prefill-tokens-s above 0")
    if troubles.deploy_s * replicas > load.calls * load.call_s / load.at_once / 4:
        raise CommandFailed(
            f"--deploy-s {troubles.deploy_s:g}: allowed: what all take within a quarter of it all"
        )
    routings: tuple[Routing, ...] = ("affinity", "random")
    outcomes = {
        routing: Simulation(load, machine, replicas, routing, troubles=troubles).run().figures()
        for routing in routings
    }
    print(f"{'':22}{'affinity':>12}{'random':>12}")
    for name in outcomes["affinity"]:
        print(f"{name:22}{outcomes['affinity'][name]:>12,}{outcomes['random'][name]:>12,}")
