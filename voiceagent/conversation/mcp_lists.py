"""Tool lists of the MCP servers that a client names: requested once per server, valid for the whole call.

in_progress ──▶ completed     each is an item of the conversation; a failed list is requested again
      └───────▶ failed        when its server is named again
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from llmcore.engine import Tool
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History
from voiceagent.conversation.mcp import McpListItem, McpServer, McpTool, offered_tools
from voiceagent.conversation.settings import CallSettings


class McpLists:
    """Owner of the lists. Methods return the commands that follow."""

    def __init__(self, history: History, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._new_id = new_id
        self._lists: dict[McpServer, McpListItem] = {}

    def request(self, servers: Sequence[McpServer]) -> list[Command]:
        """Request the tool lists of these servers, unless known or in progress; failed ones again."""
        commands: list[Command] = []
        for server in servers:
            known = self._lists.get(server)
            # an unreachable server may be reachable by now
            if known is None or known.status == "failed":
                commands += self._request(server)
        return commands

    def on_listed(self, event: ev.McpListed) -> list[Command]:
        """Handle a server's list or failure; ignore lists that are not awaited."""
        listing = (item for item in self._lists.values() if item.status == "in_progress")
        item = next((item for item in listing if item.item_id == event.item_id), None)
        if item is None:
            return []
        if event.failure:
            self._put(replace(item, status="failed"))
            message = f"the tools of MCP server {item.server.label!r} are not known: {event.failure}"
            return [
                notify.NotifyMcpListing(item.item_id, "failed"),
                notify.NotifyError("mcp_list_tools_failed", message),
            ]
        tools = tuple(tool for tool in event.tools if item.server.allowed.matches(tool))
        item = self._put(replace(item, tools=tools, status="completed"))
        previous = self._history.previous_id(item.item_id) if item.item_id in self._history else None
        completed = notify.NotifyMcpListing(item.item_id, "completed")
        return [completed, notify.NotifyItemDone(item, previous)]

    def is_awaited(self, servers: Sequence[McpServer]) -> bool:
        """Return True if the list of one of these servers is in progress."""
        lists = (self._lists.get(server) for server in servers)
        return any(item is not None and item.status == "in_progress" for item in lists)

    def tools(self, servers: Sequence[McpServer], others: Sequence[Tool]) -> tuple[McpTool, ...]:
        """Return the known tools of these servers. others: tools offered in addition."""
        taken: dict[str, object] = {tool.name: tool for tool in others}
        found: list[McpTool] = []
        for server in servers:
            if (item := self._lists.get(server)) is not None:
                found += offered_tools(server, item.tools, taken)
                taken |= {tool.tool.name: tool for tool in found}
        return tuple(found)

    def with_known_tools(self, settings: CallSettings) -> CallSettings:
        """Return the settings with the known tools of their servers."""
        if not settings.mcp_servers and not settings.mcp_tools:
            return settings
        others = [*settings.tools, *(tool.tool for tool in settings.agent_tools)]
        return replace(settings, mcp_tools=self.tools(settings.mcp_servers, others))

    def _request(self, server: McpServer) -> list[Command]:
        item = McpListItem(self._new_id("item"), server)
        self._lists[server] = item
        self._history.insert(item)
        return [
            notify.NotifyItemAdded(item, self._history.previous_id(item.item_id)),
            notify.NotifyMcpListing(item.item_id, "in_progress"),
            do.ListMcpTools(item.item_id, server),
        ]

    def _put(self, item: McpListItem) -> McpListItem:
        self._lists[item.server] = item
        if item.item_id in self._history:  # a client may have deleted it meanwhile
            self._history.put(item)
        return item
