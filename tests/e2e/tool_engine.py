"""An LLM that calls the first tool it is given, and says what the tool answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from voiceagent.engines.own import Delta, Request, ToolCall, Usage


class ToolLlm:
    """No model at all: what a model that calls tools would do."""

    async def start(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """A call of the first tool; where there is none, or it has answered, the last message."""
        last = request.messages[-1]
        if last.role == "tool" or not request.tools:
            yield Delta(f"It says {last.content}.")
            yield Delta(finish_reason="stop", usage=Usage(10, 0, 5))
        else:
            call = ToolCall("call_1", request.tools[0].name, '{"city": "Bonn"}')
            yield Delta(tool_calls=(call,))
            yield Delta(finish_reason="tool_calls", usage=Usage(10, 0, 5))

    async def prefill(self, request: Request) -> None:
        """There is no cache."""
