"""The tool choice "allowed_tools": the backend may call these of its tools only."""

from __future__ import annotations

from dataclasses import replace

from llmcore.engine import Tool
from voiceagent.conversation.mcp import McpServer
from voiceagent.transports.live.protocol.session_object import AllowedMcpTool, AllowedTools
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.validation.errors import shorten


def allowed_tools(
    choice: AllowedTools, tools: tuple[Tool, ...], servers: tuple[McpServer, ...], param: str
) -> tuple[tuple[Tool, ...], tuple[McpServer, ...]]:
    """Return the tools and servers that the choice allows, in their order. A server whose tools are named has
    these alone; they may not be listed yet. Raise RequestError for one that the backend does not have.
    """
    labels = {server.label for server in servers}
    functions: set[str] = set()
    named: dict[str, set[str] | None] = {}  # by the server's label; None for all its tools
    for index, allowed in enumerate(choice.tools):
        place = f"{param}.tools[{index}]"
        if not isinstance(allowed, AllowedMcpTool):
            _check(allowed.name, {tool.name for tool in tools}, f"{place}.name")
            functions.add(allowed.name)
            continue
        _check(allowed.server_label, labels, f"{place}.server_label")
        names = named.setdefault(allowed.server_label, set())
        if allowed.name is None:
            named[allowed.server_label] = None
        elif names is not None:
            names.add(allowed.name)
    return (
        tuple(tool for tool in tools if tool.name in functions),
        tuple(_narrowed(server, named[server.label]) for server in servers if server.label in named),
    )


def _check(name: str, known: set[str], param: str) -> None:
    if name not in known:
        message = f"{param} is {shorten(name)}; the backend has: {', '.join(sorted(known)) or 'none'}"
        raise RequestError("invalid_value", message, param)


def _narrowed(server: McpServer, names: set[str] | None) -> McpServer:
    """Return the server with these tools only. Those that its own filter excludes stay excluded."""
    if names is None:
        return server
    allowed = names if server.allowed.names is None else names.intersection(server.allowed.names)
    return replace(server, allowed=replace(server.allowed, names=tuple(sorted(allowed))))
