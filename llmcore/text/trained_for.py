"""Models trained for one prompt, and a warning if they are used with another.

A small model trained for one purpose follows no other instructions and calls no other tools. Its
tokenizer_config.json says so: `"trained_for": {"instructions_sha256": "...", "tools": ["order_taxi", ...]}`,
with `"parallel_tool_calls": false` if it never calls two tools in one reply.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from llmcore.engine import Request

log = logging.getLogger(__name__)

_REMEMBERED = 1_000
"""Warnings remembered, so as not to repeat them."""


class TrainedFor:
    """Prompt that a model was trained for.

    instructions_sha256: digest of the system prompt, in hex. tools: names of the tools that it calls.
    parallel_tool_calls: True if one reply may contain several calls, so that the first does not end it.
    """

    def __init__(
        self, instructions_sha256: str, tools: Sequence[str], parallel_tool_calls: bool = True
    ) -> None:
        self.parallel_tool_calls = parallel_tool_calls
        self._instructions = instructions_sha256
        self._tools = frozenset(tools)
        self._logged: set[str] = set()

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> TrainedFor | None:
        """Read the content of tokenizer_config.json; None for a general model."""
        table = config.get("trained_for")
        if table is None:
            return None
        return cls(table["instructions_sha256"], table["tools"], table.get("parallel_tool_calls", True))

    def misfits(self, request: Request) -> list[str]:
        """Return the parts of a request that the model does not follow, as text."""
        found = []
        system = next((message.content for message in request.messages if message.role == "system"), "")
        if system and fingerprint(system) != self._instructions:
            found.append(f"the instructions {system[:60]!r}, only its own")
        if foreign := sorted({tool.name for tool in request.tools} - self._tools):
            known = ", ".join(sorted(self._tools)) or "none"
            found.append(f"the tools {', '.join(foreign)}; it calls: {known}")
        return found

    def warn(self, request: Request) -> None:
        """Log each part of a request that the model does not follow, once."""
        for misfit in self.misfits(request):
            if misfit not in self._logged and len(self._logged) < _REMEMBERED:
                self._logged.add(misfit)
                log.warning("this model was trained for one prompt, and does not follow %s", misfit)


def fingerprint(instructions: str) -> str:
    """Return the digest of a system prompt, as in `trained_for`."""
    return sha256(instructions.strip().encode()).hexdigest()
