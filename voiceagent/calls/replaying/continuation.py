"""End of a kept call, from which another call can continue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.replay import LoggedIds, new_conversation, whole_records
from voiceagent.conversation.history import Item, mcp_as_tool_items
from voiceagent.conversation.settings import CallSettings


@dataclass(frozen=True, slots=True)
class Continuation:
    """State of a conversation at its end. Calls of MCP servers are calls of functions."""

    settings: CallSettings
    items: tuple[Item, ...]


def continuation(log: CallLog, yield_gil: Callable[[], None] = lambda: None) -> Continuation:
    """Run a log through a conversation and return its end. yield_gil: called after every event. Raises
    CannotReplay.
    """
    ids = LoggedIds()
    conversation = new_conversation(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        if not record.fault:
            conversation.handle(record.event)
        yield_gil()
    return Continuation(conversation.settings, mcp_as_tool_items(conversation.history.items))
