"""Items of a conversation as prompts show them, and as chat messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import get_args

from llmcore.engine import Message, ToolCall
from voiceagent.conversation.history import (
    CANCELLED,
    History,
    Item,
    MessageItem,
    PlannedWords,
    ToolCallItem,
    ToolOutputItem,
)
from voiceagent.conversation.mcp import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpItem,
    McpListItem,
)

PENDING = "This is still running; its result will come."
"""Stands in prompts for a missing tool output: chat templates require one per call."""
_MCP_KINDS = frozenset(get_args(McpItem))


def prompt_items(
    history: History, to_caller: bool = False, planned: PlannedWords | None = None
) -> tuple[Item, ...]:
    """Return the history as prompts show it. Cancelled calls have an output at once, because the next prompt
    answers a later turn. to_caller: the prompt is for such an answer, which has not started. planned: text
    that counts as played.
    """
    items = history.items if planned is None else history.with_planned(planned)
    shown = mcp_as_tool_items(items)
    cancelled = history.given_up | (history.cancellable if to_caller else set())
    if not history.as_logged:
        shown = tuple(_with_results_at_calls(shown))
    return tuple(_with_outputs(shown, CANCELLED, cancelled)) if cancelled else shown


def mcp_as_tool_items(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items with those of MCP servers as tool calls and outputs, as models expect them."""
    if _MCP_KINDS.isdisjoint(map(type, items)):
        return tuple(items)
    return tuple(_mcp_as_tool_items(items))


def _mcp_as_tool_items(items: Sequence[Item]) -> Iterator[Item]:
    ids = {item.item_id for item in items}
    late: dict[str, list[ToolOutputItem]] = {}
    for item in items:
        if isinstance(item, McpCallItem) and item.late_after in ids and item.prompt_text is not None:
            output = ToolOutputItem(
                item.item_id, item.call.call_id, item.prompt_text, late_for=item.call.name
            )
            # after the item it came after: prompts up to there have been cached without it
            late.setdefault(item.late_after, []).append(output)
    for item in items:
        match item:
            case McpApprovalRequest(call=call):
                yield ToolCallItem(item.item_id, call)
            case McpCallItem(call=call):
                if item.request_id not in ids and item.late_after != item.item_id:
                    yield ToolCallItem(item.item_id, call)  # else the approval request stands for the call
                if item.prompt_text is not None and item.late_after not in ids:
                    yield ToolOutputItem(item.item_id, call.call_id, item.prompt_text)
            case McpListItem() | McpApprovalResponse():
                pass
            case _:
                yield item
        yield from late.get(item.item_id, ())


def to_messages(items: Sequence[Item]) -> tuple[Message, ...]:
    """Return the items as chat messages: empty text left out, neighbours of one role joined, every call
    answered, in the order of the calls.

    Chat templates require user and assistant to alternate; an interrupted caller, or a response that was not
    played, leaves two neighbours of one role.
    """
    messages: list[Message] = []
    contents: list[str] = []  # contents of the last message, joined once
    calls: list[ToolCall] = []
    images: list[str] = []

    def close() -> None:
        if contents or calls:
            joined = " ".join(filter(None, contents))
            messages[-1] = replace(
                messages[-1], content=joined, tool_calls=tuple(calls), images=tuple(images)
            )

    for message in filter(None, map(_message, _with_outputs(mcp_as_tool_items(items), PENDING))):
        if not messages or messages[-1].role != message.role or message.role == "tool":
            close()
            messages.append(message)
            contents, calls, images = [], [], []
        contents.append(message.content)
        images += message.images
        calls += message.tool_calls
    close()
    return tuple(_in_order_of_calls(messages))


def _in_order_of_calls(messages: Sequence[Message]) -> Iterator[Message]:
    """Yield the messages; the outputs behind an assistant's calls come in the order of its calls.

    Templates that name no calls depend on that order, and an output of one call may arrive before the
    placeholder of another is put in.
    """
    calls: tuple[ToolCall, ...] = ()
    for role, group in groupby(messages, key=lambda message: message.role):
        run = list(group)
        if role != "tool":
            calls = run[-1].tool_calls
        elif len(run) > 1:
            for call in calls:
                own = next((place for place, one in enumerate(run) if one.tool_call_id == call.call_id), None)
                if own is not None:
                    yield run.pop(own)
        yield from run


def _message(item: Item) -> Message | None:
    match item:
        case MessageItem(role=role, text=text, opaque=opaque, images=images):
            if item.filler or item.apology:  # most messages have none: no call for them
                text = item.prompt_text
            return Message(role, text, opaque=opaque, images=images) if text.strip() or images else None
        case ToolCallItem(call=call):
            return Message("assistant", "", tool_calls=(call,))
        case ToolOutputItem(output=output, late_for=name) if name:
            # In the caller's role: templates accept an output only directly after its call.
            return Message("user", f"[{name} has ended by now: {output}]")
        case ToolOutputItem(call_id=call_id, output=output):
            return Message("tool", output, tool_call_id=call_id)
        case _:
            raise AssertionError(f"{type(item).__name__} is shown as other items")


def _with_results_at_calls(items: Sequence[Item]) -> list[Item]:
    """Return the items; an output that does not directly follow its call becomes a late result.

    Servers refuse prompts with an output anywhere else. This happens if a client answers a call after the
    conversation continued, or deletes the call.
    """
    names = {item.call.call_id: item.call.name for item in items if isinstance(item, ToolCallItem)}
    shown: list[Item] = []
    waiting: Counter[str] = Counter()
    answered: set[str] = set()
    unanswered: list[tuple[int, str]] = []  # (end of the outputs of its response, call id)
    for item in items:
        if isinstance(item, ToolCallItem):
            waiting[item.call.call_id] += 1
        elif isinstance(item, ToolOutputItem) and not item.late_for and item.call_id in waiting:
            answered.add(item.call_id)
            waiting[item.call_id] -= 1
            if not waiting[item.call_id]:
                del waiting[item.call_id]
        elif not isinstance(item, MessageItem) or item.prompt_text.strip():  # prompts leave out blank text
            if waiting:
                unanswered += [(len(shown), call_id) for call_id in waiting.elements()]
                waiting.clear()
            if isinstance(item, ToolOutputItem):
                name = item.late_for or names.get(item.call_id, "a tool")
                shown.append(ToolOutputItem(item.item_id, item.call_id, item.output, item.status, name))
                continue
        shown.append(item)
    # some models give several calls one id; an output answers only one of them
    unanswered += [(len(shown), call_id) for call_id in waiting.elements()]
    for place, call_id in reversed(unanswered):
        if call_id in answered:
            shown.insert(place, ToolOutputItem("", call_id, PENDING))
    return shown


def _with_outputs(items: Sequence[Item], output: str, of: Container[str] | None = None) -> Iterator[Item]:
    """Yield the items, with `output` for each tool call without one, after the last call of its response.
    of: ids of the calls that get it; None for all.
    """
    answered = {item.call_id for item in items if isinstance(item, ToolOutputItem) and not item.late_for}
    pending: list[str] = []
    for item in items:
        if pending and not isinstance(item, ToolCallItem):
            yield from (ToolOutputItem("", call_id, output) for call_id in pending)
            pending = []
        yield item
        if isinstance(item, ToolCallItem) and item.call.call_id not in answered:
            pending += [item.call.call_id] if of is None or item.call.call_id in of else []
    yield from (ToolOutputItem("", call_id, output) for call_id in pending)
