"""Calls over gateways and replicas of an LLM, by discrete events.

What routing does to caches and waits. Calls are placed, refused, queued and routed by the server's own
policies, each gateway for itself. A replica reads one prompt after the other, writes for all at once, and
keeps what it has read of the calls that were there last. Left out: prefill while speaking and preemptive
responses (every turn is one request), and that open answers of a lost replica are made again.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal, NamedTuple

from llmcore.engine import Message
from llmcore.policies.priority_queue import Ticket
from llmcore.policies.served_prefixes import BlockHasher, BlockHashes, PrefixSnapshot
from llmcore.policies.session_affinity import Choice
from voiceagent.bench.simulation.gateway import CHARACTERS, Gateway, Promise
from voiceagent.bench.simulation.load import Load, Troubles
from voiceagent.bench.simulation.replica import Machine, Replica
from voiceagent.cluster.placing import place

Routing = Literal["affinity", "ring", "random"]
"""affinity: as the server does. ring: the same, but what is over a bound goes on along the ring. random: to
any replica."""
SAMPLE_S = 1.0
"""How often gateways look at their load, as a server does."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """replicas: all machines of the LLM. prefill: those of them that only read, while the others only write
    what they have read; 0 where each does both. promise: beyond which calls are refused.
    """

    replicas: int
    machine: Machine = field(default_factory=Machine)
    gateways: int = 1
    routing: Routing = "affinity"
    prefill: int = 0
    promise: Promise = field(default_factory=Promise)

    @property
    def readers(self) -> tuple[str, ...]:
        """The replicas that requests go to."""
        return tuple(f"replica {index}" for index in range(self.prefill or self.replicas))


@dataclass(slots=True)
class Outcome:
    """What came of it.

    cached: prompt tokens that were in the cache, by the reason of the replica's choice; of agents' and calls'
    words, as what all prompts share is found everywhere. read: those that were not. reasons: of the choices
    of a replica. ttft_s, answer_s: of each turn, from its request to the first and the last token.
    """

    turns: int = 0
    cached: Counter[str] = field(default_factory=Counter)
    read: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    ttft_s: list[float] = field(default_factory=list)
    answer_s: list[float] = field(default_factory=list)

    @property
    def same_replica(self) -> float:
        """Part of the requests after a call's first that went where the one before them did, 0 to 1."""
        later = self.turns - self.reasons["placed"]
        return self.reasons["kept"] / later if later else 1.0

    def figures(self) -> dict[str, float]:
        """What is told of it: tokens a turn, and times from a turn's request in milliseconds."""
        turns = max(self.turns, 1)
        counts = {
            "turns": self.turns,
            "calls refused": self.refused,
            "same replica %": round(100 * self.same_replica, 2),
            "cached tokens a turn": round(self.cached.total() / turns),
            "read tokens a turn": round(self.read / turns),
            "moved": self.reasons["moved"],
            "spilled": self.reasons["spilled"],
            "cached, if spilled": round(self.cached["spilled"] / max(self.reasons["spilled"], 1)),
        }
        return counts | _times("ttft", self.ttft_s) | _times("answer", self.answer_s)


def _times(name: str, seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds) or [0.0]
    return {
        f"{name} p{rank} ms": round(1000 * ordered[int(len(ordered) * rank / 100)], 1) for rank in (50, 95)
    }


@dataclass(eq=False, slots=True)
class _Call:
    """until_s: when it ends. prompt: of its latest turn, which began at asked_s, its agent's words first."""

    number: int
    agent: int
    gateway: Gateway
    caller: random.Random
    until_s: float
    prompt: tuple[Message, ...] = ()
    hasher: BlockHasher = field(init=False, default_factory=BlockHasher)
    asked_s: float = 0.0
    last: str | None = None


class _Prompt(NamedTuple):
    """What a replica reads, of which it `had` so many tokens."""

    tokens: int
    had: int
    reading: PrefixSnapshot


@dataclass(eq=False, slots=True)
class _Answer:
    """What is written for a call, by the replica `writer`, after `reader` has read its prompt. over_s: when
    it would be over if the writer had never read anything.
    """

    call: _Call
    ticket: Ticket
    reader: str
    writer: Replica
    prompt: _Prompt
    over_s: float = 0.0


_NONE = Troubles()


class Simulation:
    """Runs calls over a cluster. troubles: what befalls its replicas. seed: of all that is random. placing:
    with each of them the calls have other names, by which they are placed at other replicas.
    """

    def __init__(
        self, load: Load, cluster: Cluster, troubles: Troubles = _NONE, seed: int = 1, placing: int = 0
    ) -> None:
        self._load, self._cluster, self._placing = load, cluster, placing
        self._random, self._seed = random.Random(seed), seed
        machine = cluster.machine
        self._replicas = {name: Replica(machine) for name in cluster.readers}
        self._writers = [Replica(machine) for _ in range(cluster.replicas - cluster.prefill)]
        self._usable = set(self._replicas)
        promise = cluster.promise
        if not promise.max_running:
            promise = replace(promise, max_running=machine.max_running * cluster.replicas)
        self._gateways = [
            Gateway(f"gateway {index}", cluster.readers, promise) for index in range(cluster.gateways)
        ]
        self._waiting: dict[Ticket, _Call] = {}
        self._words = Message("user", "w" * (CHARACTERS * load.turn_tokens))
        self._events: list[tuple[float, int, Callable[..., None], Any]] = []
        self._order = count()
        self.outcome = Outcome()
        self._begin(troubles)

    def run(self) -> Outcome:
        """Until the last call is over."""
        while self._events:
            now_s, _, happen, about = heapq.heappop(self._events)
            happen(now_s, about)
        return self.outcome

    def _begin(self, troubles: Troubles) -> None:
        last_s = 0.0
        for call, at_s in enumerate(self._load.arrivals(self._random)):
            self._at(at_s, self._arrive, call)
            last_s = at_s
        self._at(0.0, self._sample, last_s)
        if len(self._replicas) > 1:
            for index, name in enumerate(self._replicas):
                self._away(name, last_s / 4 + index * troubles.deploy_s, troubles.deploy_s)
            self._away("replica 0", last_s / 2, troubles.lost_s)

    def _away(self, name: str, from_s: float, seconds: float) -> None:
        if seconds:
            self._at(from_s, self._lose, name)
            self._at(from_s + seconds, lambda _, name: self._usable.add(name), name)

    def _at(self, at_s: float, happen: Callable[..., None], about: object) -> None:
        heapq.heappush(self._events, (at_s, next(self._order), happen, about))

    def _lose(self, _: float, name: str) -> None:
        self._usable.discard(name)
        self._replicas[name].lose()
        for gateway in self._gateways:
            gateway.affinity.forget_replica(name)

    def _sample(self, now_s: float, until_s: float) -> None:
        for gateway in self._gateways:
            gateway.sample(now_s)
        if now_s < until_s:
            self._at(now_s + SAMPLE_S, self._sample, until_s)

    def _arrive(self, now_s: float, number: int) -> None:
        """A load balancer goes round; the gateway that it comes to may send the call on."""
        gateways = self._gateways
        own = gateways[number % len(gateways)]
        others = self._random.sample(gateways, min(3, len(gateways)))
        reports = {gateway: gateway.report() for gateway in others if gateway is not own}
        chosen = place(own.report(), list(reports.values())[:2], self._random.randrange)
        if chosen is None:
            self.outcome.refused += 1
            return
        gateway = next((other for other, report in reports.items() if report is chosen), own)
        gateway.calls += 1
        agent, caller = self._load.agent(number, self._seed), self._load.caller(number, self._seed)
        until_s = now_s + self._load.length_of_call_s(caller)
        prompt = (self._said(agent, self._load.agent_tokens), self._said(number, self._load.turn_tokens))
        self._ask(now_s, _Call(number, agent, gateway, caller, until_s, prompt))

    @staticmethod
    def _said(by: int, tokens: int) -> Message:
        """A message of so many tokens that nobody else says."""
        return Message("user", f"{by} ".ljust(CHARACTERS * tokens, "w")[: CHARACTERS * tokens])

    def _ask(self, now_s: float, call: _Call) -> None:
        call.asked_s = now_s
        self._waiting[call.gateway.add(call.prompt, str(call.number), now_s)] = call
        self._admit(call.gateway, now_s)

    def _admit(self, gateway: Gateway, now_s: float) -> None:
        for ticket in gateway.admit(now_s):
            self._send(now_s, self._waiting.pop(ticket), ticket)

    def _send(self, now_s: float, call: _Call, ticket: Ticket) -> None:
        marks = () if self._cluster.routing != "affinity" else call.hasher.hashes(call.prompt)
        choice = self._choose(call, self._usable, now_s, marks)
        machine, own = self._cluster.machine, self._load.turn_tokens * (len(call.prompt) - 1)
        tokens = self._load.agent_tokens + own
        parts = (f"agent {call.agent}", self._load.agent_tokens), (f"call {call.number}", own)
        had, read_s = self._replicas[choice.replica].read(parts, now_s)
        writer = self._replicas[choice.replica]
        if self._cluster.prefill:
            writer = min(self._writers, key=lambda each: each.writing)
            read_s += (tokens - had) / machine.transfer_tokens_s
        outcome = self.outcome
        outcome.turns += 1
        outcome.read += tokens - had
        outcome.reasons[choice.reason] += 1
        outcome.cached[choice.reason] += had
        reading = call.gateway.affinity.open_request(choice.replica, marks)
        answer = _Answer(call, ticket, choice.replica, writer, _Prompt(tokens, had, reading))
        self._at(read_s + writer.token_s() + machine.request_s, self._first_token, answer)

    def _first_token(self, now_s: float, answer: _Answer) -> None:
        call, writer = answer.call, answer.writer
        self.outcome.ttft_s.append(now_s - call.asked_s)
        call.gateway.on_first_token(answer.ticket, now_s)
        lasts_s = (self._load.reply_tokens - 1) * writer.token_s()
        answer.over_s = now_s + lasts_s - writer.stood_still_s(now_s)
        writer.writing += 1
        self._at(answer.over_s + writer.reads_s, self._written, answer)
        self._admit(call.gateway, now_s)

    def _written(self, now_s: float, answer: _Answer) -> None:
        """It is over, unless the writer has had more to read meanwhile."""
        call, writer = answer.call, answer.writer
        if (due_s := answer.over_s + writer.reads_s) > now_s:
            self._at(due_s, self._written, answer)
            return
        writer.writing -= 1
        self.outcome.answer_s.append(now_s - call.asked_s)
        prompt = answer.prompt
        call.gateway.affinity.record_read(answer.reader, prompt.reading, prompt.had / prompt.tokens)
        call.gateway.affinity.close_request(answer.reader)
        call.gateway.over(answer.ticket, prompt.tokens)
        self._admit(call.gateway, now_s)
        next_s = now_s + self._load.next_pause_s(call.caller)
        if next_s < call.until_s:
            call.prompt += (self._words,)
            self._at(next_s, self._ask, call)
        else:
            call.gateway.calls -= 1

    def _choose(self, call: _Call, usable: Set[str], now_s: float, prompt: BlockHashes) -> Choice:
        if self._cluster.routing != "random":
            key = str(call.number + self._placing * self._load.calls)
            choice = call.gateway.affinity.choose(key, usable, now_s, prompt=prompt)
            assert choice is not None  # one is lost at most
            return choice
        replica, before = self._random.choice(sorted(usable)), call.last
        call.last = replica
        return Choice(replica, "placed" if before is None else "kept" if before == replica else "spilled")
