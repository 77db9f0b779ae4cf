"""An engine behind a priority queue.

Requests wait here, where they can be reordered, not inside the engine.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from llmcore.engine import READING, Delta, LimitError, Llm, Request, SupportsPriorityRaise, Usage
from llmcore.engine_load import EngineLoad
from llmcore.policies.admission import AdmissionControl, Refusal
from llmcore.policies.priority_queue import PriorityQueue, Ticket


class PriorityLlm:
    """A pass-through to `engine` in the order that the queue admits requests.

    max_prompt_characters: longer prompts are refused; None for no limit. on_admitted: called with each
    request's wait in seconds. engines: those with queues of their own, notified when a request's priority is
    raised.
    """

    def __init__(
        self,
        engine: Llm,
        queue: PriorityQueue,
        admission: AdmissionControl,
        clock: Callable[[], float] = time.monotonic,
        max_prompt_characters: int | None = None,
        on_admitted: Callable[[Ticket, float], None] = lambda ticket, wait_s: None,
        engines: Sequence[SupportsPriorityRaise] = (),
    ) -> None:
        self._max_prompt_characters = max_prompt_characters
        self._engine = engine
        self._queue = queue
        self._admission = admission
        self._clock = clock
        self._on_admitted = on_admitted
        self._engines = engines
        self._admitted: dict[Ticket, asyncio.Event] = {}

    async def start(self) -> None:
        """Start the engine. Raises LlmError."""
        await self._engine.start()

    async def close(self) -> None:
        await self._engine.close()

    @property
    def predicted_ttft_s(self) -> float:
        """Predicted time to first token of a turn that arrives now."""
        return self._queue.predicted_ttft_s()

    @property
    def unloaded_ttft_s(self) -> float:
        """`predicted_ttft_s` without other requests."""
        return self._queue.unloaded_ttft_s()

    def refusal(self, calls: int) -> Refusal | None:
        """Return a refusal if a new call while `calls` others are open could not be served in time."""
        return self._admission.decide(calls, self._queue.predicted_ttft_s())

    def sample(self, load: EngineLoad, calls: int) -> None:
        """Record the engine's load with so many open calls. Call about once a second."""
        self._admission.observe(self._clock(), load.running + load.waiting + self._queue.waiting, calls)

    def raise_priority(self, caller: str, due_s: float, priority: int = 0) -> None:
        """Turn this caller's preemptive request into a turn's, in this queue and in the engines' own."""
        for ticket in self._queue.raise_priority(caller, due_s):
            for engine in self._engines:
                engine.raise_priority(caller, due_s, self._queue.priority(ticket, self._clock()))
        self._admit()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply once the queue admits it. Raises LlmError; LimitError before queueing."""
        usage: Usage | None = None
        read = False
        ticket, gate_s = await self._wait_in_queue(request)
        try:
            async with aclosing(self._engine.generate(self._with_priority(ticket))) as deltas:
                async for delta in deltas:
                    if not read and delta != READING:
                        read = True
                        self._on_first_token(ticket)
                    if delta.usage is None:
                        yield delta
                    else:
                        usage = replace(delta.usage, gate_s=round(gate_s, 6))
                        yield replace(delta, usage=usage)
        finally:
            self._remove(ticket, usage)

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill once the queue admits it. Raises LlmError."""
        usage: Usage | None = None
        ticket, _ = await self._wait_in_queue(request)
        try:
            usage = await self._engine.prefill(self._with_priority(ticket))
            if usage is not None:
                self._on_first_token(ticket)
        finally:
            self._remove(ticket, usage)
        return usage

    def _with_priority(self, ticket: Ticket) -> Request:
        """Return the request with the fields by which the engine keeps the queue's order."""
        return replace(
            ticket.request,
            priority_class=self._queue.priority_class(ticket),
            # computed at admission: a turn that is late by now yields to those that can be on time
            priority=self._queue.priority(ticket, self._clock()),
            reading_s=self._queue.reading_s(ticket),
            new_tokens=ticket.new_tokens,
        )

    def _check(self, request: Request) -> None:
        allowed = self._max_prompt_characters
        length = sum(len(message.content) for message in request.messages)
        if allowed is not None and length > allowed:
            limit = f"at most {allowed} (limits.max_prompt_characters)"
            raise LimitError(f"the prompt has {length} characters; allowed: {limit}")

    async def _wait_in_queue(self, request: Request) -> tuple[Ticket, float]:
        """Wait for admission. Return the ticket and the wait in seconds."""
        # before queueing: a prompt that is too long fails at once
        self._check(request)
        began_s = self._clock()
        ticket = self._queue.add(request, began_s)
        admitted = self._admitted[ticket] = asyncio.Event()
        self._admit()
        try:
            await admitted.wait()
        # the caller hung up or kept speaking: free the place in the queue
        except asyncio.CancelledError:
            self._remove(ticket, None)
            raise
        waited_s = self._clock() - began_s
        self._on_admitted(ticket, waited_s)
        return ticket, waited_s

    def _on_first_token(self, ticket: Ticket) -> None:
        self._queue.on_first_token(ticket, self._clock())
        self._admit()

    def _remove(self, ticket: Ticket, usage: Usage | None) -> None:
        self._admitted.pop(ticket, None)
        self._queue.remove(ticket, usage)
        self._admit()

    def _admit(self) -> None:
        for ticket in self._queue.admit(self._clock()):
            self._admitted[ticket].set()
