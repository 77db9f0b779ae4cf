"""Address and credentials of an MCP server, and the error of a failed request."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.conversation.mcp import McpError
from voiceagent.mcp.policies.reach import Reach


class McpFailed(Exception):
    """A request to a server failed; the text gives the model the reason."""

    def __init__(self, error: McpError) -> None:
        super().__init__(error.message)
        self.error = error


TOO_SLOW = McpError("http_error", "it does not answer in time", 504)


@dataclass(frozen=True, slots=True)
class Target:
    """An MCP server: a URL with headers, or a program. Calls with equal targets share a connection.

    reach: allowed addresses of the URL; None for a configured server.
    """

    url: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    reach: Reach | None = None
