"""An engine with measurements: the timing of each request as its caller saw it."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from llmcore.engine import (
    READING,
    BusyError,
    Delta,
    Llm,
    LlmError,
    PriorityClass,
    Request,
    RequestError,
    Usage,
)
from llmcore.engine_load import EngineLoad, ReportsLoad

Ending = Literal["finished", "failed", "refused", "cancelled"]
"""failed: a failure of the engine. refused: a healthy engine refused this request or had no capacity."""


@dataclass(slots=True)
class RequestFigures:
    """Measurements of one request, in seconds.

    ttft_s: time to the first piece; `READING` is none. itl_s: gaps between pieces, each a token or a few.
    Time in which the reader was not ready for the next piece counts in neither.
    """

    priority_class: PriorityClass
    ending: Ending = "cancelled"
    ttft_s: float | None = None
    itl_s: list[float] = field(default_factory=list)
    usage: Usage | None = None

    @property
    def tpot_s(self) -> float | None:
        """Time per output token after the first; None for fewer than two tokens."""
        if self.ttft_s is None or self.usage is None or self.usage.completion_tokens < 2:
            return None
        return sum(self.itl_s) / (self.usage.completion_tokens - 1)


class MeteredLlm:
    """A pass-through to `engine` that reports each finished request's figures to `observe`."""

    def __init__(
        self,
        engine: Llm,
        observe: Callable[[RequestFigures], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._observe = observe
        self._clock = clock
        self._running = 0

    def load(self) -> EngineLoad:
        """Return the engine's own report, or the number of open requests if it has none."""
        return self._engine.load() if isinstance(self._engine, ReportsLoad) else EngineLoad(self._running)

    async def start(self) -> None:
        """Start the engine. Raises LlmError."""
        await self._engine.start()

    async def close(self) -> None:
        await self._engine.close()

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Generate a reply. Raises LlmError."""
        figures = RequestFigures(request.priority_class)
        self._running += 1
        requested_s = self._clock()
        try:
            async with aclosing(self._engine.generate(request)) as deltas:
                async for delta in deltas:
                    if figures.ttft_s is None and delta == READING:
                        yield delta
                        continue
                    self._record(figures, delta, self._clock() - requested_s)
                    yield delta
                    # restarted after each piece: the reader's own time is not the engine's
                    requested_s = self._clock()
            figures.ending = "finished"
        except LlmError as error:
            healthy = isinstance(error, RequestError | BusyError)
            figures.ending = "refused" if healthy else "failed"
            raise
        finally:
            self._running -= 1
            self._observe(figures)

    async def prefill(self, request: Request) -> Usage | None:
        """Prefill at the engine. Observe tokens written to a cache that is charged for. Raises LlmError."""
        usage = await self._engine.prefill(request)
        if usage is not None and usage.written_tokens:
            self._observe(RequestFigures("prefill", "finished", usage=usage))
        return usage

    @staticmethod
    def _record(figures: RequestFigures, delta: Delta, waited_s: float) -> None:
        figures.usage = delta.usage or figures.usage
        if figures.ttft_s is None:
            figures.ttft_s = waited_s
        # the last delta may contain counts only, without a token
        elif delta.text or delta.thought or delta.tool_calls:
            figures.itl_s.append(waited_s)
