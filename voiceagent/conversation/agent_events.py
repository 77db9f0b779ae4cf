"""What tools and the agent's code do in a call: events of a conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from voiceagent.conversation.mcp import ListedTool, McpError
from voiceagent.conversation.settings import AgentTool

ToolOutcome = Literal["done", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool has ended. output: for the model. reply: the model is to speak of it, where the tool is the
    agent's. error: why a tool of an MCP server gave no result; None where it did.
    """

    call_id: str
    outcome: ToolOutcome
    output: str
    reply: bool = True
    error: McpError | None = None


@dataclass(frozen=True, slots=True)
class ToolSlow:
    """A tool has run for so long that the caller should hear something."""

    call_id: str


@dataclass(frozen=True, slots=True)
class McpListed:
    """What a server offers: the answer to `ListMcpTools`. failure: why it is not known, "" where it is."""

    item_id: str
    tools: tuple[ListedTool, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class AgentChanged:
    """The call has another agent, or this one has other tools or instructions; None leaves them."""

    agent: str
    tools: tuple[AgentTool, ...]
    instructions: str | None = None
    voice: str | None = None


@dataclass(frozen=True, slots=True)
class SpeechRequested:
    """The agent's code has these words said, as soon as nobody speaks. interruptible: a caller may cut
    them.
    """

    text: str
    interruptible: bool = True


@dataclass(frozen=True, slots=True)
class ReplyRequested:
    """The agent's code has the model speak, as soon as nobody else does. guidance: what it is told to say; it
    stands behind the history in this prompt alone.
    """

    guidance: str


@dataclass(frozen=True, slots=True)
class TurnsClaimed:
    """From now on what the caller says goes to the agent's code and is not answered; or, claimed False, no
    longer."""

    claimed: bool


@dataclass(frozen=True, slots=True)
class HangUpRequested:
    """The agent's code ends the call, when what it says has been played."""

    reason: str


@dataclass(frozen=True, slots=True)
class DictationBegan:
    """What the caller says next is dictated: a number, a name or an address, in groups with pauses in
    between.

    digits: how many the number may have; empty where it is none, or nobody knows.
    """

    digits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class HookFailed:
    """A hook of the agent's code raised, or took too long. The conversation does nothing about it; the event
    is there for the call's log.

    name: of the hook. place: file, line and function; reason: the exception, or how long it took.
    """

    name: str
    place: str
    reason: str


AgentEvent = (
    ToolFinished
    | ToolSlow
    | McpListed
    | AgentChanged
    | SpeechRequested
    | ReplyRequested
    | TurnsClaimed
    | HangUpRequested
    | DictationBegan
    | HookFailed
)
