"""A simulated gateway: the server's own queue, admission control, load shedding and routing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from llmcore.engine import Message, Request, Usage
from llmcore.policies.admission import AdmissionControl
from llmcore.policies.load_shedding import LoadShedder, SheddingLevel
from llmcore.policies.priority_queue import PriorityQueue, QueueLimits, Ticket
from llmcore.policies.session_affinity import SessionAffinity
from voiceagent.cluster.placing import GatewayReport
from voiceagent.llm.monitor import LOAD_RATIO

CHARACTERS = 4
"""Characters per token: the queue's initial assumption."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Settings of the gateways from `[server]`, `[priority]` and `[budget]`. max_running: of all replicas
    together; 0 for their capacity.
    """

    max_calls: int = 140
    max_running: int = 0
    max_utilization: float = 0.8
    max_ttft_s: float = 1.0
    ttft_budget_s: float = 0.1


class Gateway:
    """One gateway for `replicas`. calls: in progress there."""

    def __init__(self, name: str, replicas: Sequence[str], promise: Promise) -> None:
        self._name, self._promise = name, promise
        self._queue = PriorityQueue(QueueLimits(promise.max_running, long_tokens=1500, max_long=1))
        limits = (promise.max_utilization, promise.max_ttft_s)
        self._admission = AdmissionControl(promise.max_running, *limits)
        self._shedder = LoadShedder()
        self.affinity = SessionAffinity(replicas, math.ceil(promise.max_running / len(replicas)))
        self.calls = self._requests = 0

    def takes_calls(self) -> bool:
        """Return True if another call is admitted and would be answered in time."""
        if self.calls >= self._promise.max_calls:
            return False
        if self._admission.decide(self.calls, self._queue.predicted_ttft_s()) is not None:
            return False
        return not (self.calls and self._shedder.level >= SheddingLevel.REFUSE_CALLS)

    def report(self) -> GatewayReport:
        """Return its report for the other gateways."""
        most, ttft_ms = self._promise.max_calls, 1000 * self._queue.predicted_ttft_s()
        takes = self.takes_calls()
        return GatewayReport(
            self._name, self._name, "ready", takes, self.calls, most, most, 0.0, predicted_ttft_ms=ttft_ms
        )

    def sample(self, now_s: float) -> None:
        """Sample the load, as a server does once a second."""
        self._admission.observe(now_s, self._requests, self.calls)
        budget_s = max(self._promise.ttft_budget_s, LOAD_RATIO * self._queue.unloaded_ttft_s())
        self._shedder.observe(now_s, self._queue.predicted_ttft_s() / budget_s)

    def add(self, messages: tuple[Message, ...], caller: str, now_s: float) -> Ticket:
        """Queue a turn's request until `admit` returns it."""
        self._requests += 1
        return self._queue.add(Request(messages, caller=caller), now_s)

    def admit(self, now_s: float) -> list[Ticket]:
        """Return the requests that go to a replica now."""
        return self._queue.admit(now_s)

    def on_first_token(self, ticket: Ticket, now_s: float) -> None:
        """Record that a request's prompt was processed."""
        self._queue.on_first_token(ticket, now_s)

    def over(self, ticket: Ticket, tokens: int) -> None:
        """Record the end of an answer to a prompt of `tokens` tokens."""
        self._requests -= 1
        self._queue.remove(ticket, Usage(prompt_tokens=tokens))
