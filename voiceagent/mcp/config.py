"""Configuration tables of MCP servers, and the target of a connection that they or a client name.

Class variables are not keys of the file: they protect a process from a server that misbehaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import ip_network
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from voiceagent.conversation.mcp import McpError
from voiceagent.mcp.reach import Reach
from voiceagent.validation.section import Duration, Section


def _url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.fragment:
        raise PydanticCustomError("url", 'allowed: a URL such as "https://shop.example/mcp"')
    return url


def _network(network: str) -> str:
    try:
        ip_network(network)
    except ValueError as error:
        raise PydanticCustomError("network", 'allowed: a network such as "10.1.0.0/16"') from error
    return network


Url = Annotated[str, AfterValidator(_url)]
Network = Annotated[str, AfterValidator(_network)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class McpServerConfig(Section):
    """`[[agent.mcp]]`: a server at any address whose tools the agent has in every call."""

    label: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """Name of the server in logs and metrics."""
    url: Url | None = None
    """URL of an MCP server with streamable HTTP."""
    command: str | None = None
    """Program of an MCP server over stdio, instead of `url`. Each process that handles calls starts it once.
    """
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: tuple[Variable, ...] = ()
    """Environment variables passed to the program, in addition to PATH, HOME and the like."""
    headers_env: dict[str, Variable] = Field(default_factory=dict)
    """HTTP headers by name, each with the environment variable that holds its value."""
    allowed_tools: tuple[str, ...] | None = None
    """Tools of the server that the agent may use. Left out, all."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Fixed values for tool arguments of these names. The model does not see these arguments."""
    timeout_s: Duration = 30.0
    """Longest duration of one tool call."""
    filler: str = ""
    """Phrase for a tool call that takes long. "" disables it."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.url is None) == (self.command is None):
            raise PydanticCustomError("two_ways", "set url or command, one of them")
        foreign = ("headers_env",) if self.url is None else ("args", "env")
        for name in foreign:
            if getattr(self, name):
                raise PydanticCustomError("foreign", "{name} belongs to the other one", {"name": name})
        return self


class McpConfig(Section):
    """`[mcp]`: MCP servers that clients may name. The constants hold for all MCP servers."""

    allowed_urls: tuple[Url, ...] = ()
    """URL prefixes of MCP servers that clients of the Realtime API may name in their tools. With none, such a
    tool is refused.
    """
    private_networks: tuple[Network, ...] = ()
    """Private networks in which these servers may be. Other private addresses are refused unless
    `allowed_urls` contains them.
    """
    timeout_s: ClassVar[float] = 30.0
    """Longest duration of one tool call of a server that a client named."""
    connect_s: ClassVar[float] = 10.0
    """Longest duration of connecting and listing the tools."""
    list_ttl_s: ClassVar[float] = 300.0
    """Lifetime of a cached tool list. It is refreshed in the background when it expires, after a failed call,
    and when the server announces a change.
    """
    idle_s: ClassVar[float] = 300.0
    """Idle time after which a connection is closed."""
    max_connections: ClassVar[int] = 32
    """Connections of a process. One more closes the connection that has been idle for longest."""
    max_tools: ClassVar[int] = 64
    """Tools of one server. A server with more offers none, unless `allowed_tools` selects fewer."""
    max_tools_bytes: ClassVar[int] = 65_536
    """Size of these tools together, as JSON."""
    max_response_bytes: ClassVar[int] = 1_048_576
    """Largest response of a server. A larger one fails."""
    max_result_characters: ClassVar[int] = 8_000
    """Longest tool result. A longer one is truncated, with a note for the model."""


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
