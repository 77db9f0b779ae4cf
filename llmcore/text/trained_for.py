"""Models that know one prompt: what they were trained for, and a warning where they meet something else.

A small model made for one thing follows no other instructions and calls no other tools. Its folder says so,
in tokenizer_config.json: `"trained_for": {"instructions_sha256": "...", "tools": ["order_taxi", ...]}`, and
there with `"parallel_tool_calls": false` that it never calls two tools in one reply.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from llmcore.engine import Request

log = logging.getLogger(__name__)

_REMEMBERED = 1_000
"""Warnings that are not given again."""


class TrainedFor:
    """What a model was trained for. instructions_sha256: of the system prompt's text, in hexadecimal digits.
    tools: names of those that it calls. parallel_tool_calls: it may call several in one reply, so that the
    first call is not the end of it.
    """

    def __init__(
        self, instructions_sha256: str, tools: Sequence[str], parallel_tool_calls: bool = True
    ) -> None:
        self.parallel_tool_calls = parallel_tool_calls
        self._instructions = instructions_sha256
        self._tools = frozenset(tools)
        self._told: set[str] = set()

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> TrainedFor | None:
        """From the content of tokenizer_config.json; None for a model that is not of this kind."""
        table = config.get("trained_for")
        if table is None:
            return None
        return cls(table["instructions_sha256"], table["tools"], table.get("parallel_tool_calls", True))

    def misfits(self, request: Request) -> list[str]:
        """What of a request the model does not follow, in words."""
        found = []
        system = next((message.content for message in request.messages if message.role == "system"), "")
        if system and fingerprint(system) != self._instructions:
            found.append(f"the instructions {system[:60]!r}, only its own")
        if foreign := sorted({tool.name for tool in request.tools} - self._tools):
            known = ", ".join(sorted(self._tools)) or "none"
            found.append(f"the tools {', '.join(foreign)}; it calls: {known}")
        return found

    def warn(self, request: Request) -> None:
        """Log what of a request the model does not follow, each once."""
        for misfit in self.misfits(request):
            if misfit not in self._told and len(self._told) < _REMEMBERED:
                self._told.add(misfit)
                log.warning("this model was trained for one prompt, and does not follow %s", misfit)


def fingerprint(instructions: str) -> str:
    """The digest of a system prompt, as `trained_for` has it."""
    return sha256(instructions.strip().encode()).hexdigest()
