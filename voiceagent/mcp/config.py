"""The tables of the configuration about MCP servers."""

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
    """`[[agent.mcp]]`: a server whose tools the agent has in every call. It may be anywhere."""

    label: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """Its name, in logs and metrics."""
    url: Url | None = None
    """Where it is, for streamable HTTP."""
    command: str | None = None
    """Or the program that is started, once a process that takes calls, and spoken to by stdin and stdout."""
    args: tuple[str, ...] = ()
    """Its arguments."""
    env: tuple[Variable, ...] = ()
    """Variables of the environment that it is given, beside PATH, HOME and the like."""
    headers_env: dict[str, Variable] = Field(default_factory=dict)
    """HTTP headers, each with the variable that has its value."""
    allowed_tools: tuple[str, ...] | None = None
    """Which of its tools the agent has; left out, all."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Arguments of all tools that have them, which are always these: the model does not see them."""
    timeout_s: Duration = 30.0
    """How long one of its tools may take."""
    filler: str = ""
    """What the caller hears while one is slow; "" for nothing."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.url is None) == (self.command is None):
            raise PydanticCustomError("two_ways", "set url or command, one of them")
        foreign = ("headers_env",) if self.url is None else ("args", "env")
        for name in foreign:
            if getattr(self, name):
                raise PydanticCustomError("foreign", "{name} goes with the other way", {"name": name})
        return self


class McpConfig(Section):
    """`[mcp]`: the MCP servers that clients may name, and what any server may take."""

    allowed_urls: tuple[Url, ...] = ()
    """Servers that clients of the Realtime API may name in their tools; each stands for what begins with it,
    path by path. None: a client that names one is refused."""
    private_networks: tuple[Network, ...] = ()
    """Private networks in which these servers may be; others are refused, unless a URL has the address."""
    timeout_s: Duration = 30.0
    """How long a tool of such a server may take."""
    connect_s: Duration = 10.0
    """How long connecting may take, and listing the tools."""
    list_ttl_s: Duration = 300.0
    """How long a list of tools is taken for true; then, after a call that failed, or when the server says
    that it has changed, it is asked for again, behind the scenes."""
    idle_s: Duration = 300.0
    """After how long without use a connection is closed."""
    max_connections: int = Field(default=32, ge=1)
    """Connections of a process; one more closes the one that is unused for longest."""
    max_tools: int = Field(default=64, ge=1)
    """Tools of one server; with more than these, or more bytes, none are offered: `allowed_tools` chooses."""
    max_tools_bytes: int = Field(default=65_536, ge=1_024)
    """Bytes of those tools together, as JSON: each prompt has them."""
    max_response_bytes: int = Field(default=1_048_576, ge=4_096)
    """Longest answer of a server; a longer one fails."""
    max_result_characters: int = Field(default=8_000, ge=100)
    """Longest result of a tool; a longer one is cut, and says so."""
