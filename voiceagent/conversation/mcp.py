"""MCP in a conversation: servers that a client names, their tools, and their items.

The items are those of the OpenAI Realtime API (`openai.types.realtime`), independent of the wire.
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
    """Filter for a server's tools by name and by read-only hint. None matches any."""

    names: tuple[str, ...] | None = None
    read_only: bool | None = None

    def matches(self, tool: ListedTool) -> bool:
        named = self.names is None or tool.name in self.names
        return named and self.read_only in (None, tool.read_only)


@dataclass(frozen=True, slots=True)
class Approval:
    """Approval rules: every call needs approval unless the tool is in `never`, or not in `always`.

    None for a filter that was not given.
    """

    always: ToolFilter | None = None
    never: ToolFilter | None = None

    def is_needed(self, tool: ListedTool) -> bool:
        """Return True if calls of a tool need the client's approval."""
        if self.never is not None and self.never.matches(tool):
            return False
        if self.always is not None and self.never is None:
            return self.always.matches(tool)
        return True


NO_APPROVAL = Approval(never=ToolFilter())


@dataclass(frozen=True, slots=True)
class McpServer:
    """A server that a client named. label: the client's name for it. description: prepended to each tool's.

    headers: HTTP headers. They hold keys and tokens, so they are neither shown nor logged.
    """

    label: str
    url: str
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False, metadata=NOT_LOGGED)
    allowed: ToolFilter = ToolFilter()
    approval: Approval = Approval()
    description: str = ""


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool as its server lists it. read_only: the server's `readOnlyHint`."""

    name: str
    description: str
    schema: dict[str, Any] = field(default_factory=dict)
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class McpTool:
    """A listed tool as the model sees it: `tool.name` for the server's `name`. ask: calls need approval."""

    server: McpServer
    name: str
    tool: Tool
    ask: bool


@dataclass(frozen=True, slots=True)
class McpError:
    """Reason of a failed call: the tool reported it, the server rejected the call, or it was unreachable."""

    kind: Literal["tool_execution_error", "protocol_error", "http_error"]
    message: str
    code: int = 0


ListStatus = Literal["in_progress", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class McpListItem:
    """The tools of a server that the client allowed."""

    item_id: str
    server: McpServer
    tools: tuple[ListedTool, ...] = ()
    status: ListStatus = "in_progress"


@dataclass(frozen=True, slots=True)
class McpApprovalRequest:
    """A request to the client to approve a tool call. name: the tool's on its server."""

    item_id: str
    server_label: str
    name: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class McpApprovalResponse:
    """The client's answer to an approval request."""

    item_id: str
    request_id: str
    approve: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class McpCallItem:
    """A call of a server's tool. output: None until it succeeded. error: the reason of a failure.

    request_id: of the approval, "" if none was needed. late_after: if the conversation continued before the
    result, the item after which prompts show it; "" if it stands at the call.
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
    def prompt_text(self) -> str | None:
        """The output or error message that prompts show; None until the call has ended."""
        return self.output if self.error is None else self.error.message


def mcp_choice(label: str, name: str = "") -> str:
    """Return the tool choice that forces a call of an MCP server's tool: the one called `name`, or any. No
    function has such a name.
    """
    return f"mcp:{label}:{name}"


def mcp_chosen(choice: str) -> tuple[str, str] | None:
    """Return the server's label and the tool's name ("" for any) of such a choice, None for any other."""
    if not choice.startswith("mcp:"):
        return None
    _, label, name = choice.split(":", 2)
    return label, name


McpItem = McpListItem | McpApprovalRequest | McpApprovalResponse | McpCallItem


def offered_tools(
    server: McpServer, listed: Sequence[ListedTool], taken: Mapping[str, object]
) -> list[McpTool]:
    """Return the tools of a list as the model sees them.

    taken: names of other tools. A name that is taken, or that models do not accept, is changed by
    `free_name`.
    """
    tools: dict[str, McpTool] = {}
    for tool in listed:
        name = free_name(tool.name, server.label, taken.keys() | tools.keys())
        description = f"{server.description}: {tool.description}" if server.description else tool.description
        spec = Tool(name, description, tool.schema)
        tools[name] = McpTool(server, tool.name, spec, server.approval.is_needed(tool))
    return list(tools.values())
