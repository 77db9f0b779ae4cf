"""A model that answers what a test tells it to."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator
from typing import Any

from llmcore.engine import Delta, Request, ToolCall, Usage
from voiceagent.session.call import new_id


class Calls:
    """The model calls a tool: its name, and the arguments."""

    def __init__(self, tool: str, **arguments: Any) -> None:
        self.tool = tool
        self.arguments = arguments


class ScriptedModel:
    """Answers as it is told, one response a step: words, or calls of tools. Then "Okay." to everything."""

    def __init__(self) -> None:
        self.steps: deque[str | Calls] = deque()
        self.requests: list[Request] = []

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """The next step; steps that call tools, one after the other, are one response."""
        self.requests.append(request)
        calls: list[ToolCall] = []
        while self.steps and isinstance(step := self.steps[0], Calls):
            self.steps.popleft()
            calls.append(ToolCall(new_id("call"), step.tool, json.dumps(step.arguments)))
        if calls:
            yield Delta(tool_calls=tuple(calls))
        else:
            yield Delta(str(self.steps.popleft()) if self.steps else "Okay.")
        yield Delta(finish_reason="tool_calls" if calls else "stop", usage=Usage())

    async def prefill(self, request: Request) -> None:
        """There is no cache."""
