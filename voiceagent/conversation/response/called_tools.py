"""Tool calls of a response: tools of the agent and of MCP servers run here, others are the client's."""

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
    """Router of a response's tool calls. running: the calls that run here."""

    def __init__(self, history: History, new_id: Callable[[str], str], running: ToolCalls) -> None:
        self._history = history
        self._new_id = new_id
        self._running = running

    def process(self, response: Response, calls: Sequence[ToolCall], settings: CallSettings) -> list[Command]:
        """Process the calls of a response, in order. Calls of a response that must make none are dropped,
        because no prompt could report their results.
        """
        commands: list[Command] = []
        if response.wanted.in_conversation and self._running.rounds_are_spent(response.response_id):
            response.refused_calls = True
            return []
        before = len(self._history.items)
        for call in calls:
            response.tool_calls += 1
            mcp = _mcp_tool(call.name, response.wanted, settings)
            if mcp is not None or _runs_here(call.name, response.wanted, settings):
                commands += self._running.start(response.response_id, call, settings, mcp)
                continue
            own = self._running.with_unique_id(call) if response.wanted.in_conversation else call
            item = ToolCallItem(self._new_id("item"), own)
            previous = self._history.last_id()
            if response.wanted.in_conversation:
                self._history.insert(item)
                self._running.add_client_call(response.response_id, own.call_id)
            commands.append(notify.NotifyToolCall(response.response_id, item.item_id, previous, own))
        if not response.first_call_id and len(self._history.items) > before:
            response.first_call_id = self._history.items[before].item_id
        commands += self._running.record_refused()
        return commands + self._running.await_client(response.response_id)

    def has_effects(self, call: ToolCall, settings: CallSettings) -> bool:
        """Return True if the call does something that cannot be taken back. False for tools of the agent that
        are cancelled when the conversation continues, or that run only after their response was played.
        """
        tool = next((tool for tool in settings.agent_tools if tool.name == call.name), None)
        return tool is None or not (tool.cancellable or tool.when_played)


def _mcp_tool(name: str, wanted: ev.ResponseRequested, settings: CallSettings) -> McpTool | None:
    """Return the MCP server's tool that a response was offered under this name, if any."""
    tools = settings.mcp_tools if wanted.tools is None else wanted.mcp_tools
    found = (tool for tool in tools if tool.tool.name == name)
    return next(found, None) if wanted.in_conversation else None


def _runs_here(name: str, wanted: ev.ResponseRequested, settings: CallSettings) -> bool:
    """Return True if a call is of the agent's tools or of an unknown one; all others are the client's."""
    by_agent = settings.agent or settings.agent_tools  # an agent in code may have no tools
    if not by_agent or wanted.tools is not None or not wanted.in_conversation:
        return False
    return all(tool.name != name for tool in settings.tools)
