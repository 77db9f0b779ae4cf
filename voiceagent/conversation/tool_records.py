"""Tool calls in the history, and their notifications to the client.

A tool of the agent leaves a function call and its output. A tool of an MCP server leaves one item with its
output in it; if the client must approve, request and response come before it.
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
class CallRecord:
    """A call in the history. item_id: its item. mcp: the tool, if it is an MCP server's."""

    call: ToolCall
    item_id: str
    response_id: str
    mcp: McpTool | None = None


class ToolRecords:
    """Writer of tool calls into the history."""

    def __init__(self, history: History, new_id: Callable[[str], str]) -> None:
        self._history = history
        self._new_id = new_id

    def add_call(
        self, response_id: str, call: ToolCall, mcp: McpTool | None = None, request_id: str = ""
    ) -> tuple[CallRecord, list[Notification]]:
        """Record a call of the model, or one that the client approved with the item `request_id`."""
        recorded = CallRecord(call, self._new_id("item"), response_id, mcp)
        if mcp is None:
            return recorded, self._add(ToolCallItem(recorded.item_id, call))
        item = McpCallItem(recorded.item_id, mcp.server.label, mcp.name, call, request_id=request_id)
        self._history.insert(item)
        previous = self._history.previous_id(item.item_id)
        return recorded, [notify.NotifyMcpCall(response_id, item, previous)]

    def add_approval_request(
        self, response_id: str, call: ToolCall, mcp: McpTool
    ) -> tuple[CallRecord, list[Notification]]:
        """Record a call that needs the client's approval."""
        recorded = CallRecord(call, self._new_id("item"), response_id, mcp)
        item = McpApprovalRequest(recorded.item_id, mcp.server.label, mcp.name, call)
        self._history.insert(item)
        previous = self._history.previous_id(item.item_id)
        return recorded, [notify.NotifyMcpApprovalRequest(response_id, item, previous)]

    def add_output(
        self, recorded: CallRecord, output: str, late: bool, error: McpError | None = None
    ) -> list[Notification]:
        """Record the end of a call. late: the conversation continued, and prompts called it pending."""
        if recorded.mcp is not None:
            return self._mcp_ended(recorded, recorded.mcp, output, late, error)
        item = ToolOutputItem(self._new_id("item"), recorded.call.call_id, output)
        place = self._place_of_output(recorded)
        if late or place is None:  # a client may have deleted the call meanwhile
            return self._add(replace(item, late_for=recorded.call.name))
        return self._add(item, place)

    def remove(self, recorded: CallRecord) -> list[Notification]:
        """Remove a call that has no output."""
        if recorded.item_id not in self._history:
            return []  # a client has deleted it
        self._history.delete(recorded.item_id)
        return [notify.NotifyItemDeleted(recorded.item_id)]

    def has_items_since(self, recorded: CallRecord) -> bool:
        """Return True if other items than tool items follow a call."""
        place = self._place_of_output(recorded)
        return place is None or place != self._history.last_id()

    def has_message_since(self, recorded: CallRecord) -> bool:
        """Return True if a message follows a call."""
        items = self._history.items
        ids = [item.item_id for item in items]
        index = ids.index(recorded.item_id) if recorded.item_id in ids else -1
        return any(isinstance(item, MessageItem) for item in items[index + 1 :])

    def _mcp_ended(
        self, recorded: CallRecord, mcp: McpTool, output: str, late: bool, error: McpError | None
    ) -> list[Notification]:
        after = (self._history.last_id() or "") if late else ""
        notifications: list[Notification] = []
        try:
            item = self._history.get(recorded.item_id)
        except UnknownItem:
            item = None
        # the client deleted the item: the result is recorded all the same
        if not isinstance(item, McpCallItem):
            item = McpCallItem(self._new_id("item"), mcp.server.label, mcp.name, recorded.call)
            self._history.insert(item)
            after = item.item_id
            notifications = [notify.NotifyItemAdded(item, self._history.previous_id(item.item_id))]
        ended = replace(item, output=None if error else output, error=error, late_after=after)
        self._history.put(ended)
        previous = self._history.previous_id(ended.item_id)
        return [*notifications, notify.NotifyMcpCallEnded(recorded.response_id, ended, previous)]

    def _place_of_output(self, recorded: CallRecord) -> str | None:
        """Return the item after which the output belongs: the last tool item at the call."""
        if recorded.item_id not in self._history:
            return None
        items = self._history.items
        index = next(number for number, item in enumerate(items) if item.item_id == recorded.item_id)
        while index + 1 < len(items) and _is_tool_item(items[index + 1]):
            index += 1
        return items[index].item_id

    def _add(self, item: ToolCallItem | ToolOutputItem, previous_id: str | None = None) -> list[Notification]:
        self._history.insert(item, previous_id)
        previous = self._history.previous_id(item.item_id)
        return [notify.NotifyItemAdded(item, previous), notify.NotifyItemDone(item, previous)]


def _is_tool_item(item: Item) -> bool:
    """Return True if an item belongs to the call before it: another call of that response, or an output."""
    if isinstance(item, ToolOutputItem):
        return not item.late_for
    return isinstance(item, ToolCallItem | McpItem)
