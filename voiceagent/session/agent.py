"""The contract between a session and the agent's code: tools that it runs, and what it is told of.

`voiceagent.agents` makes an `AgentCode` of a class that somebody wrote; a phone line offers tools of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from voiceagent.conversation.commands import ResponseConcluded, TurnConcluded
from voiceagent.conversation.events import AgentEvent
from voiceagent.conversation.history import Item
from voiceagent.conversation.mcp import McpError
from voiceagent.conversation.settings import AgentTool


class ToolFailed(Exception):
    """The tool did not do what it was called for; the text tells the model why.

    error: the same for clients, where it is a tool of an MCP server.
    """

    def __init__(self, reason: str, error: McpError | None = None) -> None:
        super().__init__(reason)
        self.error = error


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave. output: for the model. reply: the model is to speak of it."""

    output: str
    reply: bool = True


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool and the function that runs it, with the arguments as the model wrote them. `run` may raise
    ToolFailed.

    counted_as: its name in metrics if others chose its own name; "" for its own. server: label of its MCP
    server; "" for none.
    """

    tool: AgentTool
    run: Callable[[str], Awaitable[ToolResult]]
    counted_as: str = ""
    server: str = ""


class Pressed(Enum):
    """What became of a key. BEHIND: it ends an entry that was whole before, so that nothing comes of it."""

    UNASKED = auto()
    TAKEN = auto()
    BEHIND = auto()


class Line(Protocol):
    """What the line of a call can do beside its sound."""

    async def transfer(self, destination: str = "", number: str = "") -> None:
        """Connect the caller to one of `telephony.transfers`, or to a number, and leave the call.

        Raises ToolFailed, in words for the model.
        """


class AgentDoes(Protocol):
    """What the agent's code may have done in its call: a session."""

    @property
    def line(self) -> Line | None:
        """The line, where it can do something."""

    @property
    def language(self) -> str:
        """What is spoken, as an ISO 639 code."""

    @property
    def quiet(self) -> bool:
        """Nobody speaks."""

    @property
    def items(self) -> Sequence[Item]:
        """The conversation so far."""

    def post(self, event: AgentEvent) -> None:
        """Have something done."""

    def take_over(
        self, agent: str, tools: Sequence[OfferedTool], instructions: str, voice: str | None = None
    ) -> None:
        """The call has this agent from now on, under its name, and with these tools."""


class AgentCode(Protocol):
    """The agent's code in one call. Nothing here waits or raises, but for `find_context`."""

    @property
    def greeting(self) -> str:
        """What it says first, "" for nothing."""

    def join(self, call: AgentDoes) -> None:
        """There is a call for it: it takes it over."""

    def identify(self, parameters: Mapping[str, str]) -> None:
        """What is known of the call, before it begins: who calls whom, and what came with it."""

    def begin(self) -> None:
        """The client is there."""

    def pressed(self, digit: str) -> Pressed:
        """The caller pressed a key; of one that the agent's code takes the model learns nothing."""

    async def find_context(self, words: str) -> str | Sequence[str]:
        """What may help to answer these words of the caller, who may still be speaking."""
        ...

    def told(self, command: TurnConcluded | ResponseConcluded) -> None:
        """The caller, or the agent, has said something."""

    def tool_ended(self, name: str, failure: str) -> None:
        """A tool has ended. failure: why it did not do what it was for, "" where it did."""

    def end(self) -> None:
        """The call is over."""
