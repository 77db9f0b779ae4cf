"""An LLM that does what the test says, request by request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from llmcore.engine import Delta, Request, Usage

HANG = object()
"""In a script: nothing more ever comes."""


class ScriptedLlm:
    """Each request plays the next script, the last one again and again.

    A script is a sequence of texts, deltas, exceptions to raise, events to wait for and HANG; the end of the
    response is added where it has none.
    """

    def __init__(self, *scripts: list[object], usage: Usage | None = None) -> None:
        self.scripts = list(scripts) or [["hello"]]
        self.usage = usage or Usage(3, 0, 2)
        self.requests: list[Request] = []
        self.prefills: list[Request] = []
        self.running = 0
        self.started = self.closed = 0

    async def start(self) -> None:
        self.started += 1

    async def close(self) -> None:
        self.closed += 1

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        self.requests.append(request)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        self.running += 1
        try:
            for step in script:
                if step is HANG:
                    await asyncio.Event().wait()
                if isinstance(step, asyncio.Event):
                    await step.wait()
                    continue
                if isinstance(step, Exception):
                    raise step
                yield step if isinstance(step, Delta) else Delta(str(step))
                if isinstance(step, Delta) and step.finish_reason is not None:
                    return
            yield Delta(finish_reason="stop", usage=self.usage)
        finally:
            self.running -= 1

    async def prefill(self, request: Request) -> Usage | None:
        self.prefills.append(request)
        return self.usage
