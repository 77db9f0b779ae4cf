"""Mocks of an agent's tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from voiceagent.agents.agent import Agent
from voiceagent.agents.running import run_tool_method
from voiceagent.agents.tools import ToolMethod


@dataclass(frozen=True, slots=True)
class _Mock:
    """The mocked result of a tool; `raises` has precedence if it is not None."""

    returns: Any
    raises: Exception | None


class Mocks:
    """The mocked tools of a call, by their names in the agent."""

    def __init__(self) -> None:
        self._mocks: dict[str, _Mock] = {}

    def set(self, tool: str, returns: Any, raises: Exception | None) -> None:
        """Mock a tool, replacing an earlier mock of it.

        Raises:
            TypeError: Both results are given, or `raises` is no exception.
        """
        if raises is not None and returns is not None:
            raise TypeError(f"mock({tool!r}): returns and raises; allowed: one of them")
        if raises is not None and not isinstance(raises, Exception):
            raise TypeError(f"mock({tool!r}): raises is {raises!r}; allowed: an exception")
        self._mocks[tool] = _Mock(returns, raises)

    async def run(self, agent: Agent, tool: ToolMethod, given: Mapping[str, Any]) -> Any:
        """Run a tool's mock, or its method if it has none."""
        mock = self._mocks.get(tool.spec.name)
        if mock is None:
            return await run_tool_method(agent, tool, given)
        if mock.raises is not None:
            raise mock.raises
        return mock.returns

    def check(self, tools: Iterable[ToolMethod]) -> None:
        """Check that each mock stands for a tool.

        Raises:
            AssertionError: None of these tools has the name of a mock.
        """
        names = sorted({tool.spec.name for tool in tools})
        if wrong := [name for name in self._mocks if name not in names]:
            there = ", ".join(names) or "none"
            raise AssertionError(f"mocked {', '.join(wrong)}: no agent of the call has it; tools: {there}")
