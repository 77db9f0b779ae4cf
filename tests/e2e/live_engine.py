"""An LLM that calls its first tool for each turn of the caller, and tells results and notes."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from itertools import count

from voiceagent.engines.own import Delta, Request, ToolCall, Usage

LATE = " has ended by now: "
COMMENTARY = re.compile('says: "(.*?)" Tell', re.DOTALL)
"""Commentary in the guidance of the response that tells it."""


class LiveLlm:
    """Stand-in for a model that delegates."""

    def __init__(self) -> None:
        self._numbers = count(1)

    async def start(self) -> None:
        """Do nothing: there is no model to load."""

    async def close(self) -> None:
        """Do nothing."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Call the first tool for a turn of the caller; tell the last message otherwise. A result that comes
        after another message is in the caller's role.
        """
        last = request.messages[-1]
        late = last.content.partition(LATE)[2].removesuffix("]")
        if last.role == "user" and request.tools and not late:
            call = ToolCall(f"call_{next(self._numbers)}", request.tools[0].name, '{"city": "Bonn"}')
            yield Delta(tool_calls=(call,))
            yield Delta(finish_reason="tool_calls", usage=Usage(10, 0, 5))
        else:
            notes = COMMENTARY.findall(last.content) if last.role == "system" else []
            told = notes or [late or last.content]
            yield Delta(" ".join(f"It says {each}." for each in told))
            yield Delta(finish_reason="stop", usage=Usage(10, 0, 5))

    async def prefill(self, request: Request) -> None:
        """Do nothing: there is no cache."""


class SpeechlessLlm(LiveLlm):
    """Stand-in for a small model that delegates by an invented tool, and has no words for results."""

    async def generate(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Call a tool that is not offered for a turn of the caller; reply to guidance with nothing."""
        if request.messages[-1].role == "system":
            yield Delta(finish_reason="stop", usage=Usage(10, 0, 5))
            return
        async for delta in super().generate(request):
            calls = tuple(replace(call, name="forecast") for call in delta.tool_calls)
            yield replace(delta, tool_calls=calls)
