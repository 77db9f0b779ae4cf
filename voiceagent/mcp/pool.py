"""MCP servers of a process: configured ones, and those that clients name."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import structlog

from voiceagent.conversation.mcp import (
    NO_APPROVAL,
    ListedTool,
    McpError,
    McpServer,
    McpTool,
    ToolFilter,
    offered_tools,
)
from voiceagent.mcp.config import McpConfig, McpFailed, McpServerConfig, Target
from voiceagent.mcp.reach import NotAllowed, Reach
from voiceagent.mcp.results import TooMuch, check_size, with_arguments, without_arguments
from voiceagent.mcp.shared_connections import Connect, SharedConnections
from voiceagent.validation.errors import ConfigError, config_error
from voiceagent.validation.references import import_object

INSTALL = "pip install 'voiceagent-server[mcp]'"
RETRY_S = 5.0
"""Interval of retries for a configured server that has not listed its tools."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ConfiguredTool:
    """A tool of a configured server, as offered to a call."""

    config: McpServerConfig
    mcp: McpTool


class McpPool:
    """Access to MCP servers, on one event loop.

    servers: from `[[agent.mcp]]`. environ: holds their secrets. connect: creates a connection; by default
    with the `mcp` SDK. Raises ConfigError if the SDK or a variable is missing.
    """

    def __init__(
        self,
        config: McpConfig,
        servers: Sequence[McpServerConfig],
        environ: Mapping[str, str],
        source: Path,
        connect: Connect | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._reach = Reach(config.allowed_urls, config.private_networks)
        self._servers = {server.label: (server, _target(server, environ, source)) for server in servers}
        if len(self._servers) < len(servers):
            labels = [server.label for server in servers]
            raise config_error(source, "agent.mcp", labels, "two servers have one label; labels must differ")
        if connect is None and (servers or config.allowed_urls):
            connect = _import_connection(source)
        configured = {target for _, target in self._servers.values()}
        self._connections = connect and SharedConnections(connect, config, configured, clock)
        self._maintenance: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """List the tools of the configured servers; failed ones are retried later."""
        if self._connections is None:
            return
        await asyncio.gather(*(self._refresh(*pair) for pair in self._servers.values()))
        self._maintenance = asyncio.create_task(self._maintain(), name="MCP servers")

    async def close(self) -> None:
        if self._maintenance is not None:
            self._maintenance.cancel()
        if self._connections is not None:
            await self._connections.close()

    # ---- servers that a client names

    def refusal(self, server: McpServer) -> str | None:
        """Return the reason why a session may not name this server, or None if it may."""
        if self._connections is None:
            return "this server takes no MCP servers of its clients; allowed: those of mcp.allowed_urls, none"
        try:
            self._reach.check_url(server.url)
        except NotAllowed as refused:
            return str(refused)
        return None

    async def tools(self, server: McpServer) -> tuple[ListedTool, ...]:
        """Return the tools of a server that its client allowed. Raises McpFailed."""
        listed = await self._shared.tools(self._target_of(server))
        allowed = tuple(tool for tool in listed if server.allowed.matches(tool))
        self._check_size(allowed)
        return allowed

    async def call(self, server: McpServer, name: str, arguments: str) -> str:
        """Call a tool and return its result. Raises McpFailed."""
        return await self._call(self._target_of(server), name, _parse_arguments(arguments))

    @property
    def timeout_s(self) -> float:
        """Time limit of tools of servers that clients named."""
        return self._config.timeout_s

    # ---- servers of the configuration

    def configured(self) -> list[ConfiguredTool]:
        """Return the tools of the configured servers that have listed them."""
        found: list[ConfiguredTool] = []
        for config, target in self._servers.values():
            listed = self._shared.listed(target)
            shown = _allowed_tools(
                config, [without_arguments(tool, config.arguments) for tool in listed or ()]
            )
            server = McpServer(config.label, config.url or config.command or "", approval=NO_APPROVAL)
            with suppress(McpFailed):  # too many: logged when they were listed
                self._check_size(shown)
                found += [ConfiguredTool(config, tool) for tool in offered_tools(server, shown, {})]
        return found

    async def call_configured(self, tool: ConfiguredTool, arguments: str) -> str:
        """Call one of these tools, with the configured fixed arguments. Raises McpFailed."""
        target = self._servers[tool.config.label][1]
        listed = self._shared.listed(target)
        spec = next((one for one in listed or () if one.name == tool.mcp.name), ListedTool(tool.mcp.name, ""))
        given = with_arguments(spec, _parse_arguments(arguments), tool.config.arguments)
        return await self._call(target, tool.mcp.name, given)

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the configured servers."""
        return tuple(self._servers)

    async def read_configured(self, label: str, uri: str) -> tuple[str, ...]:
        """Return the texts of a resource of a configured server. Raises McpFailed."""
        return await self._shared.use(self._servers[label][1], lambda connection: connection.read(uri))

    async def _maintain(self) -> None:
        """Refresh the tools of configured servers, and close unused connections, until cancelled."""
        while True:
            await asyncio.sleep(RETRY_S)
            due = [pair for pair in self._servers.values() if self._shared.is_due(pair[1])]
            # concurrently: a silent server delays no other
            await asyncio.gather(*(self._refresh(*pair) for pair in due))
            self._shared.close_unused()

    async def _refresh(self, server: McpServerConfig, target: Target) -> None:
        try:
            self._check_size(_allowed_tools(server, await self._shared.refresh_tools(target)))
        except McpFailed as failed:
            log.warning("mcp_server_failed", server=server.label, reason=str(failed))

    # ---- all of them

    @property
    def _shared(self) -> SharedConnections:
        assert self._connections is not None  # never called without servers
        return self._connections

    def _target_of(self, server: McpServer) -> Target:
        return Target(server.url, server.headers, reach=self._reach)

    async def _call(self, target: Target, name: str, arguments: Mapping[str, Any]) -> str:
        return await self._shared.use(target, lambda connection: connection.call(name, arguments))

    def _check_size(self, tools: Sequence[ListedTool]) -> None:
        try:
            check_size(tools, self._config.max_tools, self._config.max_tools_bytes)
        except TooMuch as error:
            raise McpFailed(
                McpError("protocol_error", f"{error}; allowed_tools chooses among them")
            ) from error


def _allowed_tools(server: McpServerConfig, tools: Sequence[ListedTool]) -> list[ListedTool]:
    """Return the tools that the agent may use."""
    return [tool for tool in tools if ToolFilter(server.allowed_tools).matches(tool)]


def _parse_arguments(arguments: str) -> dict[str, Any]:
    with suppress(ValueError):
        parsed = json.loads(arguments or "{}")
        if isinstance(parsed, dict):
            return parsed
    message = "not done: the arguments are no JSON object"
    raise McpFailed(McpError("tool_execution_error", message))


def _target(server: McpServerConfig, environ: Mapping[str, str], source: Path) -> Target:
    for name in (*server.env, *server.headers_env.values()):
        if name not in environ:
            raise config_error(source, f"agent.mcp.{server.label}", name, "this variable is not set")
    headers = tuple((name, environ[variable]) for name, variable in server.headers_env.items())
    env = tuple((name, environ[name]) for name in server.env)
    return Target(server.url or "", headers, server.command or "", server.args, env)


def _import_connection(source: Path) -> Connect:
    if find_spec("mcp") is None:
        raise ConfigError(f"{source}: agent.mcp and mcp.allowed_urls need the mcp package: {INSTALL}")
    connect: Connect = import_object("voiceagent.mcp.connection:Connection")
    return connect
