"""The built-in tool by which the model cancels a tool that it started. Offered while there is such a tool."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from llmcore.engine import Tool, ToolCall
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_names import free_name

_DESCRIPTION = (
    "Stop a tool that is still running, because the caller no longer wants it. "
    "What it has done already is not undone."
)


def cancel_tool_name(settings: CallSettings) -> str:
    """Return the name under which the tool is offered: no other tool of the call has it."""
    return free_name("cancel_tool", "server", frozenset(tool.name for tool in settings.all_tools))


def cancel_tool(running: Sequence[ToolCall], settings: CallSettings) -> tuple[Tool, ...]:
    """Return the tool that cancels one of these calls; nothing if there are none."""
    if not running:
        return ()
    tool = {"type": "string", "enum": list(cancellable_by_label(running))}
    parameters = {"type": "object", "properties": {"tool": tool}, "required": ["tool"]}
    return (Tool(cancel_tool_name(settings), _DESCRIPTION, parameters),)


def cancellable_by_label(running: Sequence[ToolCall]) -> Mapping[str, str]:
    """Return the ids of these calls by what the model calls them: the tool's name, with the arguments where
    several calls of one tool run.
    """
    names = [call.name for call in running]
    return {
        call.name if names.count(call.name) == 1 else f"{call.name} {call.arguments}": call.call_id
        for call in running
    }


def wanted_label(arguments: str) -> str:
    """Return the label in the model's arguments, "" if there is none."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return ""
    label = given.get("tool") if isinstance(given, dict) else None
    return label if isinstance(label, str) else ""
