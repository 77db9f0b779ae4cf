"""MCP servers in one call: lists and runs their tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from llmcore.engine import Tool
from voiceagent.conversation.events import McpListed
from voiceagent.conversation.mcp import McpServer
from voiceagent.conversation.settings import AgentTool
from voiceagent.mcp.config import McpFailed
from voiceagent.mcp.pool import ConfiguredTool, McpPool
from voiceagent.session.agent import OfferedTool, ToolFailed, ToolResult
from voiceagent.session.references import until_stopped

NOT_HERE = "this server takes no MCP servers of its clients"


class McpInCall:
    """The MCP servers that a call's client names. Owns the tasks that list their tools.

    pool: None if no server can be reached. post: takes each list.
    """

    def __init__(self, pool: McpPool | None, post: Callable[[McpListed], None]) -> None:
        self._pool = pool
        self._post = post
        self._listing: set[asyncio.Task[None]] = set()

    def refusal(self, server: McpServer) -> str | None:
        """Return the reason why a client may not name this server; None if it may."""
        return NOT_HERE if self._pool is None else self._pool.refusal(server)

    def list(self, item_id: str, server: McpServer) -> None:
        """List a server's tools; `McpListed` is posted once."""
        task = asyncio.create_task(self._list(item_id, server), name="list MCP tools")
        self._listing.add(task)
        task.add_done_callback(self._listing.discard)

    def tool(self, server: McpServer, name: str) -> OfferedTool:
        pool = self._pool
        timeout_s = pool.timeout_s if pool is not None else 0.0

        async def run(arguments: str) -> ToolResult:
            if pool is None:
                raise ToolFailed(NOT_HERE)
            try:
                return ToolResult(await pool.call(server, name, arguments), reply=False)
            except McpFailed as failed:
                raise ToolFailed(str(failed), failed.error) from failed

        tool = AgentTool(Tool(name, ""), timeout_s=timeout_s)
        return OfferedTool(tool, run, counted_as="mcp", server=server.label)

    async def close(self) -> None:
        """Cancel the lists in progress."""
        for task in self._listing:
            task.cancel()
        await until_stopped(self._listing)

    async def _list(self, item_id: str, server: McpServer) -> None:
        refusal = self.refusal(server)  # checked again: not every server comes from this client's own request
        if self._pool is None or refusal is not None:
            self._post(McpListed(item_id, failure=refusal or NOT_HERE))
            return
        try:
            self._post(McpListed(item_id, await self._pool.tools(server)))
        except McpFailed as failed:
            self._post(McpListed(item_id, failure=str(failed)))


def configured_tools(pool: McpPool) -> list[OfferedTool]:
    """Return the tools of the configured servers, which every call has."""
    return [_configured(pool, tool) for tool in pool.configured()]


def _configured(pool: McpPool, tool: ConfiguredTool) -> OfferedTool:
    async def run(arguments: str) -> ToolResult:
        try:
            return ToolResult(await pool.call_configured(tool, arguments))
        except McpFailed as failed:
            raise ToolFailed(str(failed)) from failed

    config = tool.config
    offered = AgentTool(tool.mcp.tool, timeout_s=config.timeout_s, filler=config.filler)
    return OfferedTool(offered, run, server=config.label)
