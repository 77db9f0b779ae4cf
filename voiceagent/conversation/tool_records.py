"""What calls of tools leave in the history, and what the client is told of it.

A tool of the agent leaves a function call and its output. A tool of an MCP server leaves one item with its
output in it; where the client must approve, the request and the answer stand before that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from llmcore.engine import ToolCall
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import (
    History,
    Item,
    MessageItem,
    ToolCallItem,
    ToolOutputItem,
    UnknownItem,
)
from voiceagent.conversation.mcp import McpApprovalRequest, McpCallItem, McpError, McpItem, McpTool
from voiceagent.conversation.notifications import Notification


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call in the history. item_id: its item. mcp: the tool, where it is an MCP server's."""

    call: ToolCall
    item_id: str
    response_id: str
    mcp: McpTool | None = None


class ToolRecords:
    """Writes calls into the history."""

    def __init__(self, history: History, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._new_id = new_id

    def called(
        self, response_id: str, call: ToolCall, mcp: McpTool | None = None, request_id: str = ""
    ) -> tuple[Recorded, list[Notification]]:
        """The model has called a tool, or the client has approved of it by the item `request_id`."""
        recorded = Recorded(call, self._new_id("item"), response_id, mcp)
        if mcp is None:
            return recorded, self._add(ToolCallItem(recorded.item_id, call))
        item = McpCallItem(recorded.item_id, mcp.server.label, mcp.name, call, request_id=request_id)
        self._history.insert(item)
        previous = self._history.previous_id(item.item_id)
        return recorded, [notify.NotifyMcpCall(response_id, item, previous)]

    def asked(self, response_id: str, call: ToolCall, mcp: McpTool) -> tuple[Recorded, list[Notification]]:
        """The model has called a tool that the client must approve of."""
        recorded = Recorded(call, self._new_id("item"), response_id, mcp)
        item = McpApprovalRequest(recorded.item_id, mcp.server.label, mcp.name, call)
        self._history.insert(item)
        previous = self._history.previous_id(item.item_id)
        return recorded, [notify.NotifyMcpApprovalRequest(response_id, item, previous)]

    def ended(
        self, recorded: Recorded, output: str, late: bool, error: McpError | None = None
    ) -> list[Notification]:
        """The call has ended. late: the conversation had gone on, and prompts said it would still come."""
        if recorded.mcp is not None:
            return self._mcp_ended(recorded, recorded.mcp, output, late, error)
        item = ToolOutputItem(self._new_id("item"), recorded.call.call_id, output)
        place = self._place_of_output(recorded)
        if late or place is None:  # a client may have deleted the call meanwhile
            return self._add(replace(item, late_for=recorded.call.name))
        return self._add(item, place)

    def spoken_since(self, recorded: Recorded) -> bool:
        """Whether more stands behind a call, and what calls leave beside it."""
        place = self._place_of_output(recorded)
        return place is None or place != self._history.last_id()

    def message_since(self, recorded: Recorded) -> bool:
        """Whether anybody has said anything since a call."""
        items = self._history.items
        ids = [item.item_id for item in items]
        index = ids.index(recorded.item_id) if recorded.item_id in ids else -1
        return any(isinstance(item, MessageItem) for item in items[index + 1 :])

    def _mcp_ended(
        self, recorded: Recorded, mcp: McpTool, output: str, late: bool, error: McpError | None
    ) -> list[Notification]:
        after = (self._history.last_id() or "") if late else ""
        told: list[Notification] = []
        try:
            item = self._history.get(recorded.item_id)
        except UnknownItem:
            item = None
        if not isinstance(item, McpCallItem):  # the client has deleted it: what it did is told all the same
            item = McpCallItem(self._new_id("item"), mcp.server.label, mcp.name, recorded.call)
            self._history.insert(item)
            after = item.item_id
            told = [notify.NotifyItemAdded(item, self._history.previous_id(item.item_id))]
        ended = replace(item, output=None if error else output, error=error, late_after=after)
        self._history.put(ended)
        previous = self._history.previous_id(ended.item_id)
        return [*told, notify.NotifyMcpCallEnded(recorded.response_id, ended, previous)]

    def _place_of_output(self, recorded: Recorded) -> str | None:
        """The item behind which the output belongs: the last one of the call and its neighbours."""
        if recorded.item_id not in self._history:
            return None
        items = self._history.items
        index = next(number for number, item in enumerate(items) if item.item_id == recorded.item_id)
        while index + 1 < len(items) and _of_tools(items[index + 1]):
            index += 1
        return items[index].item_id

    def _add(self, item: ToolCallItem | ToolOutputItem, previous_id: str | None = None) -> list[Notification]:
        self._history.insert(item, previous_id)
        previous = self._history.previous_id(item.item_id)
        return [notify.NotifyItemAdded(item, previous), notify.NotifyItemDone(item, previous)]


def _of_tools(item: Item) -> bool:
    """Whether an item stands with the call before it: another call of that response, or an output."""
    if isinstance(item, ToolOutputItem):
        return not item.late_for
    return isinstance(item, ToolCallItem | McpItem)
