"""The tools that a response calls: those of the agent and of MCP servers are run, others are the client's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmcore.engine import ToolCall
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, ToolCallItem
from voiceagent.conversation.mcp import McpTool
from voiceagent.conversation.response.phases import Response
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls


class CalledTools:
    """Gives each call to whom it belongs. running: those that are run here."""

    def __init__(self, history: History, new_id: Callable[[str], str], running: ToolCalls) -> None:
        self._history = history
        self._new_id = new_id
        self._running = running

    def take(self, response: Response, calls: Sequence[ToolCall], settings: CallSettings) -> list[Command]:
        """Process the calls of a response, in order. Calls of a response that must make none are dropped,
        because no prompt could report their results.
        """
        commands: list[Command] = []
        if response.wanted.in_conversation and self._running.rounds_are_spent(response.response_id):
            response.refused_calls = True
            return []
        before = len(self._history.items)
        for call in calls:
            response.called_tools = True
            mcp = _mcp_tool(call.name, response.wanted, settings)
            if mcp is not None or _runs_here(call.name, response.wanted, settings):
                commands += self._running.begin(response.response_id, call, settings, mcp)
                continue
            item = ToolCallItem(self._new_id("item"), call)
            previous = self._history.last_id()
            if response.wanted.in_conversation:
                self._history.insert(item)
            commands.append(notify.NotifyToolCall(response.response_id, item.item_id, previous, call))
        if not response.first_call_id and len(self._history.items) > before:
            response.first_call_id = self._history.items[before].item_id
        return commands + self._running.all_begun()


def _mcp_tool(name: str, wanted: ev.ResponseRequested, settings: CallSettings) -> McpTool | None:
    """The tool of an MCP server that a response was offered under this name."""
    tools = settings.mcp_tools if wanted.tools is None else wanted.mcp_tools
    found = (tool for tool in tools if tool.tool.name == name)
    return next(found, None) if wanted.in_conversation else None


def _runs_here(name: str, wanted: ev.ResponseRequested, settings: CallSettings) -> bool:
    """Whether a call is the agent's, or of no tool at all; all others are the client's."""
    by_agent = settings.agent or settings.agent_tools  # one in code, which may have no tools itself
    if not by_agent or wanted.tools is not None or not wanted.in_conversation:
        return False
    return all(tool.name != name for tool in settings.tools)
