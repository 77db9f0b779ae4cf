"""MCP in a conversation: servers that a client names, their tools, and the items that tell of both.

The items are those of the OpenAI Realtime API (`openai.types.realtime`), free of its wire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation.tool_names import free_name

NOT_LOGGED = {"logged": False}
"""Marks a field of a dataclass that event logs leave out (`voiceagent.calls.log.codec`)."""


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Some of a server's tools: those with these names, and those that only read (or that do more). None:
    any."""

    names: tuple[str, ...] | None = None
    read_only: bool | None = None

    def matches(self, tool: ListedTool) -> bool:
        """Whether a tool is one of them."""
        named = self.names is None or tool.name in self.names
        return named and self.read_only in (None, tool.read_only)


@dataclass(frozen=True, slots=True)
class Approval:
    """Which calls a client must approve: all, unless the tool is in `never`, or not in `always`.

    None for a filter that was not given.
    """

    always: ToolFilter | None = None
    never: ToolFilter | None = None

    def needed(self, tool: ListedTool) -> bool:
        """Whether calls of a tool wait for the client."""
        if self.never is not None and self.never.matches(tool):
            return False
        if self.always is not None and self.never is None:
            return self.always.matches(tool)
        return True


NO_APPROVAL = Approval(never=ToolFilter())


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server that a client named. label: what it calls it. description: for the model, with each tool.

    headers: of HTTP, with keys and tokens in them, which are neither shown nor logged.
    """

    label: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False, metadata=NOT_LOGGED)
    allowed: ToolFilter = ToolFilter()
    approval: Approval = Approval()
    description: str = ""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it. read_only: what the server says of it (`readOnlyHint`)."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=dict)
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class McpTool:
    """A listed tool as the model is offered it: `tool.name` is the model's word for the server's `name`."""

    server: McpServer
    name: str
    tool: Tool
    ask: bool


@dataclass(frozen=True, slots=True)
class McpError:
    """Why a call failed: the tool said so, the server did not take the call, or it could not be reached."""

    kind: Literal["tool_execution_error", "protocol_error", "http_error"]
    message: str
    code: int = 0


ListStatus = Literal["in_progress", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class McpListItem:
    """The tools of a server, as far as the client allowed them."""

    item_id: str
    server: McpServer
    tools: tuple[ListedTool, ...] = ()
    status: ListStatus = "in_progress"


@dataclass(frozen=True, slots=True)
class McpApprovalRequest:
    """The model wants to call a tool: the client is to say whether it may. name: the server's."""

    item_id: str
    server_label: str
    name: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class McpApprovalResponse:
    """What the client said to a request for approval."""

    item_id: str
    request_id: str
    approve: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class McpCallItem:
    """A call of a server's tool. output: None until it has ended well; error: why it has not.

    request_id: of the approval, "" where none was needed. late_after: where the conversation had gone on, the
    item behind which prompts tell the result; "" where it stands at the call.
    """

    item_id: str
    server_label: str
    name: str
    call: ToolCall
    output: str | None = None
    error: McpError | None = None
    request_id: str = ""
    late_after: str = ""

    @property
    def told(self) -> str | None:
        """What prompts say it gave; None while it has not ended."""
        return self.output if self.error is None else self.error.message


McpItem = McpListItem | McpApprovalRequest | McpApprovalResponse | McpCallItem


def offered(server: McpServer, listed: Sequence[ListedTool], taken: Mapping[str, object]) -> list[McpTool]:
    """Return the tools of a list as the model is offered them.

    taken: names of other tools. A name that is taken, or that models do not accept, is changed by
    `free_name`.
    """
    tools: dict[str, McpTool] = {}
    for tool in listed:
        name = free_name(tool.name, server.label, taken.keys() | tools.keys())
        description = f"{server.description}: {tool.description}" if server.description else tool.description
        spec = Tool(name, description, tool.schema)
        tools[name] = McpTool(server, tool.name, spec, server.approval.needed(tool))
    return list(tools.values())
