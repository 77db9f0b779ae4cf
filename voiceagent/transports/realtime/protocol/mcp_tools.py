"""MCP servers among a session's tools: conversion between wire and conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from voiceagent.conversation.mcp import NO_APPROVAL, Approval, McpServer, ToolFilter
from voiceagent.transports.realtime.protocol.errors import RequestError
from voiceagent.transports.realtime.protocol.session_object import (
    FunctionTool,
    McpServerTool,
    WireApprovalFilter,
    WireToolFilter,
)
from voiceagent.validation.errors import shorten

MAX_HEADERS = 16
MAX_HEADER_BYTES = 8_192
"""Maximum length of all names and values together."""
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name: `token` of RFC 9110, 5.6.2."""
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_RESERVED_HEADERS = frozenset(
    {
        *("accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type"),
        *("cookie", "expect", "host", "keep-alive", "last-event-id", "te", "trailer", "transfer-encoding"),
        *("upgrade", "via"),
    }
)
"""Headers that clients may not set: the protocol uses them."""


def to_servers(wire: Sequence[FunctionTool | McpServerTool], param: str) -> tuple[McpServer, ...]:
    """Return the MCP servers among the tools of `param`. Raise RequestError."""
    servers: list[McpServer] = []
    for index, tool in enumerate(wire):
        if isinstance(tool, McpServerTool):
            if any(server.label == tool.server_label for server in servers):
                message = f"is {tool.server_label!r}, which an earlier server has; labels must differ"
                raise _wrong(f"{param}[{index}].server_label", message)
            servers.append(_to_server(tool, f"{param}[{index}]"))
    return tuple(servers)


def show_server(server: McpServer) -> dict[str, Any]:
    """Return a server as the session object shows it, without headers, which are secret."""
    shown: dict[str, Any] = {
        "type": "mcp",
        "server_label": server.label,
        "server_url": server.url,
        "allowed_tools": None if server.allowed == ToolFilter() else _show_filter(server.allowed),
        "require_approval": _show_approval(server.approval),
    }
    return shown | ({"server_description": server.description} if server.description else {})


def _to_server(wire: McpServerTool, param: str) -> McpServer:
    return McpServer(
        label=wire.server_label,
        url=wire.server_url,
        headers=_to_headers(wire, param),
        allowed=_to_filter(wire.allowed_tools),
        approval=_to_approval(wire.require_approval),
        description=wire.server_description or "",
    )


def _to_headers(wire: McpServerTool, param: str) -> tuple[tuple[str, str], ...]:
    given = dict(wire.headers or {})
    if wire.authorization is not None:
        if any(name.lower() == "authorization" for name in given):
            raise _wrong(f"{param}.authorization", "is given in headers too; allowed: one of them")
        given["Authorization"] = f"Bearer {wire.authorization}"
    if len(given) > MAX_HEADERS:
        raise _wrong(f"{param}.headers", f"are {len(given)}; allowed: at most {MAX_HEADERS}")
    for name, value in given.items():
        ours = name.lower() in _RESERVED_HEADERS or name.lower().startswith(("mcp-", "proxy-", "sec-"))
        if not _NAME.fullmatch(name) or ours:
            raise _wrong(f"{param}.headers", f"have {shorten(name)}, which is none that a client may set")
        if not _VALUE.fullmatch(value):
            raise _wrong(f"{param}.headers", f"{name} has characters beyond ASCII text")
    size = sum(len(name) + len(value) for name, value in given.items())
    if size > MAX_HEADER_BYTES:
        raise _wrong(f"{param}.headers", f"have {size} bytes; allowed: at most {MAX_HEADER_BYTES}")
    return tuple(given.items())


def _to_filter(wire: list[str] | WireToolFilter | None) -> ToolFilter:
    if wire is None:
        return ToolFilter()
    if isinstance(wire, list):
        return ToolFilter(tuple(wire))
    return ToolFilter(None if wire.tool_names is None else tuple(wire.tool_names), wire.read_only)


def _to_approval(wire: str | WireApprovalFilter | None) -> Approval:
    if isinstance(wire, WireApprovalFilter):
        always = None if wire.always is None else _to_filter(wire.always)
        return Approval(always, None if wire.never is None else _to_filter(wire.never))
    return NO_APPROVAL if wire == "never" else Approval()


def _show_filter(tools: ToolFilter) -> dict[str, Any]:
    names = {} if tools.names is None else {"tool_names": list(tools.names)}
    return names | ({} if tools.read_only is None else {"read_only": tools.read_only})


def _show_approval(approval: Approval) -> str | dict[str, Any]:
    if approval in (Approval(), NO_APPROVAL):
        return "always" if approval == Approval() else "never"
    sides = {"always": approval.always, "never": approval.never}
    return {name: _show_filter(tools) for name, tools in sides.items() if tools is not None}


def _wrong(param: str, message: str) -> RequestError:
    return RequestError("invalid_value", f"{param} {message}", param)
