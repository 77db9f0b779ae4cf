"""The conversation on a terminal while one develops: what was said, tools, and the caller's wait.

caller: is there a pool?
tool:   find("pool") -> {"opens": 7}
agent:  Yes, it opens at seven. (284 ms)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import structlog

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.call_events import CallEvent, EventHandled, ResponseDone
from voiceagent.conversation.history import MessageItem, ToolOutputItem
from voiceagent.conversation.latency import TurnReport

MAX_CHARACTERS = 300
"""Maximum characters of a tool's arguments and of its result."""
FIGURES = frozenset({"turn", "tool", "response_interrupted"})
"""Log events whose content these lines show. They are logged at level debug only."""
Rendered = Mapping[str, Any] | str | bytes | bytearray | tuple[Any, ...]
LINE = "conversation"
"""Log event of these lines."""


def drop_figures(_: object, level: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Drop the log lines that repeat the conversation, as a structlog processor."""
    if event.get("event") in FIGURES:
        raise structlog.DropEvent
    return event


def plain_lines(render: structlog.typing.Processor) -> structlog.typing.Processor:
    """Return a renderer that prints lines of the conversation bare, with their time; others by `render`."""

    def rendered(logger: Any, name: str, event: structlog.typing.EventDict) -> Rendered:
        if event.get("event") != LINE:
            return render(logger, name, event)
        at = str(event.get("timestamp", ""))[11:19]
        return f"{at} {event['text']}"

    return rendered


class TerminalTranscript:
    """Prints one call: a `CallSubscriber`. show: prints a line."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._texts: dict[str, str] = {}
        self._tools: dict[str, str] = {}

    def on_event(self, event: CallEvent) -> None:
        if isinstance(event, EventHandled):
            self._on_handled(event.event)
            for command in event.commands:
                self._on_command(command)
        elif isinstance(event, ResponseDone):
            self._on_response(event.report)

    def _on_handled(self, event: ev.Event) -> None:
        match event:
            case ev.ItemCreated(item=MessageItem(role="user", text=text, by_line=False)) if text:
                self._show(f"caller: {text}")
            case ev.ToolFinished(call_id=call_id, outcome=outcome, output=output):
                self._on_tool_result(call_id, output, "" if outcome == "done" else f" ({outcome})")
            case ev.ItemCreated(item=ToolOutputItem(call_id=call_id, output=output)):
                self._on_tool_result(call_id, output)

    def _on_command(self, command: do.Command) -> None:
        match command:
            case notify.NotifyTranscript(text=text, final=True) if text.strip():
                self._show(f"caller: {text.strip()}")
            case notify.NotifyResponseText(response_id=response_id, text=text):
                self._texts[response_id] = self._texts.get(response_id, "") + text
            case do.RunTool(call=call) | notify.NotifyToolCall(call=call):
                self._tools[call.call_id] = f"{call.name}({_short(call.arguments)})"

    def _on_tool_result(self, call_id: str, output: str, outcome: str = "") -> None:
        called = self._tools.pop(call_id, "")
        if called:
            self._show(f"tool:   {called} -> {_short(output)}{outcome}")

    def _on_response(self, report: TurnReport) -> None:
        text = self._texts.pop(report.response_id, "").strip()
        if not text:  # it called tools only
            return
        facts = [] if report.wait_us is None else [f"{report.wait_us / 1000:.0f} ms"]
        if report.interrupted_by:
            facts.append(f"interrupted by {report.interrupted_by.replace('_', ' ')}")
        elif report.outcome != "completed":
            facts.append(report.outcome.replace("_", " "))
        self._show(f"agent:  {text}" + (f" ({', '.join(facts)})" if facts else ""))


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}..."
