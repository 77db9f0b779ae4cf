"""What a connection to an MCP server is made of, and how one fails."""

from __future__ import annotations

from dataclasses import dataclass, field

from voiceagent.conversation.mcp import McpError
from voiceagent.mcp.policies.reach import Reach


class McpFailed(Exception):
    """A server did not do what it was asked for; the text tells the model why."""

    def __init__(self, error: McpError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Target:
    """A server: by its URL, with headers, or the program that is one. Calls with equal targets share it.

    reach: where its URL may lead; None for one that the configuration names.
    """

    url: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    reach: Reach | None = None
