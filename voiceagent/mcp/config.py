"""Configuration tables of MCP servers."""

from __future__ import annotations

from ipaddress import ip_network
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

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
    """Name in logs and metrics."""
    url: Url | None = None
    """Address for streamable HTTP."""
    command: str | None = None
    """Alternatively, a program that speaks MCP on stdin and stdout.

    It is started once for each process that takes calls.
    """
    args: tuple[str, ...] = ()
    """Arguments of the program."""
    env: tuple[Variable, ...] = ()
    """Environment variables passed to the program, in addition to PATH, HOME and the like."""
    headers_env: dict[str, Variable] = Field(default_factory=dict)
    """HTTP headers, each with the environment variable that holds its value."""
    allowed_tools: tuple[str, ...] | None = None
    """Tools that the agent has; if not set, all."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Fixed values of arguments, for all tools that have them; hidden from the model."""
    timeout_s: Duration = 30.0
    """Time limit of a tool."""
    filler: str = ""
    """Text spoken while a tool is slow; "" for none."""

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
    """`[mcp]`: MCP servers that clients may name, and limits of all servers."""

    allowed_urls: tuple[Url, ...] = ()
    """Servers that clients of the Realtime API may name in their tools; each allows all URLs below it, by
    whole path segments. If empty, clients may name none.
    """
    private_networks: tuple[Network, ...] = ()
    """Private networks in which these servers may be; others are refused, unless a URL contains the address
    itself.
    """
    timeout_s: Duration = 30.0
    """Time limit of a tool of such a server."""
    connect_s: Duration = 10.0
    """Time limit of connecting, and of listing the tools."""
    list_ttl_s: Duration = 300.0
    """Time for which a list of tools is valid.

    It is refreshed in the background afterwards, after a failed call, and when the server announces a change.
    """
    idle_s: Duration = 300.0
    """Time without use after which a connection is closed."""
    max_connections: int = Field(default=32, ge=1)
    """Connections of a process; another one closes the least recently used."""
    max_tools: int = Field(default=64, ge=1)
    """Largest number of tools of one server.

    Beyond this, or `max_tools_bytes`, none are offered: choose with `allowed_tools`.
    """
    max_tools_bytes: int = Field(default=65_536, ge=1_024)
    """Largest total size of those tools as JSON, in bytes; they are part of each prompt."""
    max_response_bytes: int = Field(default=1_048_576, ge=4_096)
    """Largest response of a server; a longer one fails."""
    max_result_characters: int = Field(default=8_000, ge=100)
    """Longest result of a tool; a longer one is cut and marked."""
