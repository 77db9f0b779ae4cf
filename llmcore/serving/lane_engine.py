"""An engine behind the lanes: requests wait here, where they can still be put in order, not in the engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from llmcore.engine import Delta, EngineLoad, Llm, Request, Usage
from llmcore.serving.admission import Admission, Refusal
from llmcore.serving.lanes import Lanes, Ticket


class LaneLlm:
    """Passes requests on to `engine` as the lanes let them in."""

    def __init__(
        self, engine: Llm, lanes: Lanes, admission: Admission, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._engine = engine
        self._lanes = lanes
        self._admission = admission
        self._clock = clock
        self._doors: dict[Ticket, asyncio.Event] = {}

    async def start(self) -> None:
        """Start the engine. Raises LlmError."""
        await self._engine.start()

    async def close(self) -> None:
        """Close the engine."""
        await self._engine.close()

    @property
    def predicted_ttft_s(self) -> float:
        """How long a turn that came now would wait for its first token."""
        return self._lanes.predicted_ttft_s()

    @property
    def unloaded_ttft_s(self) -> float:
        """The same where nobody else wants anything."""
        return self._lanes.unloaded_ttft_s()

    def refusal(self, calls: int) -> Refusal | None:
        """Why one more call beside `calls` would not be served in time, if it would not."""
        return self._admission.decide(calls, self._lanes.predicted_ttft_s())

    def sample(self, load: EngineLoad, calls: int) -> None:
        """Take a sample of how busy the engine is with so many calls, about once a second."""
        self._admission.busy(self._clock(), load.running + load.waiting + self._lanes.waiting, calls)

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply when the lanes let it in. Raises LlmError."""
        usage: Usage | None = None
        read = False
        ticket = await self._enter(request)
        try:
            async with aclosing(self._engine.generate(self._ordered(ticket))) as deltas:
                async for delta in deltas:
                    if not read:
                        read = True
                        self._read(ticket)
                    usage = delta.usage or usage
                    yield delta
        finally:
            self._leave(ticket, usage)

    async def prefill(self, request: Request) -> Usage | None:
        """Have the engine read when the lanes let it. Raises LlmError."""
        usage: Usage | None = None
        ticket = await self._enter(request)
        try:
            usage = await self._engine.prefill(self._ordered(ticket))
            if usage is not None:
                self._read(ticket)
        finally:
            self._leave(ticket, usage)
        return usage

    def _ordered(self, ticket: Ticket) -> Request:
        """The request, and what the engine needs to know to keep the order of the lanes."""
        priority = self._lanes.priority(ticket, self._clock())
        return replace(ticket.request, lane=self._lanes.lane(ticket), priority=priority)

    async def _enter(self, request: Request) -> Ticket:
        ticket = self._lanes.enter(request, self._clock())
        door = self._doors[ticket] = asyncio.Event()
        self._open_doors()
        try:
            await door.wait()
        except asyncio.CancelledError:
            self._leave(ticket, None)
            raise
        return ticket

    def _read(self, ticket: Ticket) -> None:
        self._lanes.first_token(ticket, self._clock())
        self._open_doors()

    def _leave(self, ticket: Ticket, usage: Usage | None) -> None:
        self._doors.pop(ticket, None)
        self._lanes.leave(ticket, usage)
        self._open_doors()

    def _open_doors(self) -> None:
        for ticket in self._lanes.let_in(self._clock()):
            self._doors[ticket].set()
