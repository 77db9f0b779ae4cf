"""The items of a conversation: what was said and what was played."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Literal, get_args

from llmcore.engine import LOGGED_IF_SET, Message, ToolCall
from voiceagent.conversation.mcp import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpItem,
    McpListItem,
)

ItemStatus = Literal["in_progress", "completed", "incomplete"]

PENDING = "This is still running; its result will come."
"""Stands in prompts for a missing tool output: chat templates require one per call."""
CANCELLED = "cancelled: the caller went on"
"""Stands in prompts for the output of a cancelled call, before and after it has ended."""


@dataclass(frozen=True, slots=True)
class MessageItem:
    """A message of one side. spoken: it was audio; `text` is the transcript or the played part. by_line:
    information of the telephony provider for the model, not said by anyone. opaque: data that the LLM server
    attached to the text; it is returned to that server with it. images: pictures, as data URLs. filler: the
    filler at the start of `text`, which prompts leave out: small models repeat it in later answers.
    """

    item_id: str
    role: Literal["user", "assistant", "system"]
    text: str
    spoken: bool = False
    status: ItemStatus = "completed"
    by_line: bool = False
    opaque: str = field(default="", metadata=LOGGED_IF_SET)
    images: tuple[str, ...] = field(default=(), metadata=LOGGED_IF_SET)
    filler: str = field(default="", metadata=LOGGED_IF_SET)

    @property
    def prompt_text(self) -> str:
        """The text without its filler. "" if playback was cut within the filler."""
        return self.text.lstrip()[len(self.filler) :].lstrip() if self.filler else self.text


@dataclass(frozen=True, slots=True)
class ToolCallItem:
    """A tool call of the model."""

    item_id: str
    call: ToolCall
    status: ItemStatus = "completed"


@dataclass(frozen=True, slots=True)
class ToolOutputItem:
    """The output of call `call_id`. late_for: the tool's name if the conversation continued before the
    output.
    """

    item_id: str
    call_id: str
    output: str
    status: ItemStatus = "completed"
    late_for: str = ""


Item = MessageItem | ToolCallItem | ToolOutputItem | McpItem


_MCP_KINDS = frozenset(get_args(McpItem))


class UnknownItem(LookupError):
    """No item of the conversation has this id."""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits for the history that a client may create: items, characters of one item and of all, pictures."""

    max_items: int
    max_item_characters: int
    max_conversation_characters: int
    max_images: int


class LimitExceeded(ValueError):
    """A client's item exceeds a limit, which the message names."""


@dataclass(frozen=True, slots=True)
class PlannedWords:
    """Text that is still being played, as the history will hold it if playback is not cut.

    message: with the full text. before_id: the item to insert it before if it is not in the history yet; ""
    for the end.
    """

    message: MessageItem
    before_id: str = ""


@dataclass(slots=True)
class History:
    """Ordered items of one call. Only the conversation changes it.

    as_logged: in prompts, tool outputs stay in order of arrival, as in builds without `max_tool_rounds`.
    edits: number of client edits of existing items, or insertions between them. given_up: ids of calls whose
    results are no longer wanted. cancellable: ids of running calls that the answer to the caller will cancel.
    """

    items: list[Item] = field(default_factory=list)
    as_logged: bool = False
    edits: int = 0
    given_up: set[str] = field(default_factory=set)
    cancellable: set[str] = field(default_factory=set)

    def prompt_items(self, to_caller: bool = False, planned: PlannedWords | None = None) -> tuple[Item, ...]:
        """Return the items as prompts show them. Cancelled calls have an output at once, because the next
        prompt answers a later turn. to_caller: the prompt is for such an answer, which has not started.
        planned: text that counts as played.
        """
        items = self.items if planned is None else self._with_planned(planned)
        told, cancelled = mcp_as_tool_items(items), self.given_up | (self.cancellable if to_caller else set())
        if not self.as_logged:
            told = tuple(_with_results_at_calls(told))
        return tuple(_with_outputs(told, CANCELLED, cancelled)) if cancelled else told

    def __contains__(self, item_id: str) -> bool:
        # linear: histories have tens of items, and a second index could get out of step
        return any(item.item_id == item_id for item in self.items)

    def get(self, item_id: str) -> Item:
        """Return the item of this id. Raises UnknownItem."""
        return self.items[self._index(item_id)]

    def previous_id(self, item_id: str) -> str | None:
        """Return the id of the item before this one, None for the first. Raises UnknownItem."""
        index = self._index(item_id)
        return self.items[index - 1].item_id if index else None

    def last_id(self) -> str | None:
        """Return the id of the last item, None if there is none."""
        return self.items[-1].item_id if self.items else None

    def last_words_of(self, role: Literal["user", "assistant", "system"]) -> str:
        """Return the newest text of one role, "" if there is none."""
        said = (item for item in reversed(self.items) if isinstance(item, MessageItem))
        return next((item.text for item in said if item.role == role), "")

    def insert(self, item: Item, previous_id: str | None = None) -> None:
        """Insert after `previous_id`: "root" is the front, None the end. Raises UnknownItem."""
        if previous_id is None:
            self.items.append(item)
        # the Realtime API's word for the front
        elif previous_id == "root":
            self.items.insert(0, item)
        else:
            self.items.insert(self._index(previous_id) + 1, item)

    def outputs(self) -> set[str]:
        """Return the call ids of all function outputs."""
        return {item.call_id for item in self.items if isinstance(item, ToolOutputItem)}

    def check_room(self, item: Item, limits: HistoryLimits) -> None:
        """Raise TooMuch if adding a client's item would exceed a limit."""
        # counted only here: nearly all items have no pictures, and counting all items is slow
        if pictures(item) and sum(map(pictures, (item, *self.items))) > limits.max_images:
            raise LimitExceeded(
                f"the conversation has too many pictures; allowed: at most {limits.max_images}"
            )
        size = characters(item)
        if size > (longest := limits.max_item_characters):
            raise LimitExceeded(f"the item has {size} characters; allowed: at most {longest}")
        for count, what, allowed in (
            (len(self.items) + 1, "items", limits.max_items),
            (size + sum(map(characters, self.items)), "characters", limits.max_conversation_characters),
        ):
            if count > allowed:
                raise LimitExceeded(f"the conversation would have {count} {what}; allowed: at most {allowed}")

    def put(self, item: Item) -> None:
        """Replace the item of the same id. Raises UnknownItem."""
        self.items[self._index(item.item_id)] = item

    def delete(self, item_id: str) -> None:
        """Remove an item. Raises UnknownItem."""
        del self.items[self._index(item_id)]

    def insert_before(self, item: Item, next_id: str) -> None:
        """Insert before `next_id`, or at the end if there is no such item."""
        index = self._index(next_id) if next_id in self else len(self.items)
        self.items.insert(index, item)

    def _with_planned(self, planned: PlannedWords) -> list[Item]:
        items = [planned.message if item.item_id == planned.message.item_id else item for item in self.items]
        if planned.message.item_id not in self:
            ids = [item.item_id for item in items]
            index = ids.index(planned.before_id) if planned.before_id in ids else len(items)
            items.insert(index, planned.message)
        return items

    def _index(self, item_id: str) -> int:
        for index, item in enumerate(self.items):
            if item.item_id == item_id:
                return index
        raise UnknownItem(item_id)


def characters(item: Item) -> int:
    """Return the number of characters in an item."""
    match item:
        case MessageItem(text=text):
            return len(text)
        case ToolCallItem(call=call):
            return len(call.name) + len(call.arguments)
        case ToolOutputItem(output=output):
            return len(output)
        case McpCallItem(call=call, output=output):
            return len(call.name) + len(call.arguments) + len(output or "")
        case McpApprovalRequest(call=call):
            return len(call.name) + len(call.arguments)
        case McpApprovalResponse(reason=reason):
            return len(reason)
        case McpListItem(tools=tools):
            return sum(len(tool.name) + len(tool.description) for tool in tools)


def pictures(item: Item) -> int:
    """Return the number of pictures in an item."""
    return len(item.images) if isinstance(item, MessageItem) else 0


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
            text = item.prompt_text if item.filler else text  # most messages have none: no call for them
            return Message(role, text, opaque=opaque, images=images) if text.strip() or images else None
        case ToolCallItem(call=call):
            return Message("assistant", "", tool_calls=(call,))
        case ToolOutputItem(output=output, late_for=name) if name:
            # In the caller's role: templates accept an output only directly after its call.
            return Message("user", f"[{name} has ended by now: {output}]")
        case ToolOutputItem(call_id=call_id, output=output):
            return Message("tool", output, tool_call_id=call_id)
        case _:
            raise AssertionError(f"{type(item).__name__} is told as other items")


def _with_results_at_calls(items: Sequence[Item]) -> list[Item]:
    """Return the items; an output that does not directly follow its call becomes a late result.

    Servers refuse prompts with an output anywhere else. This happens if a client answers a call after the
    conversation continued, or deletes the call.
    """
    names = {item.call.call_id: item.call.name for item in items if isinstance(item, ToolCallItem)}
    told: list[Item] = []
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
                unanswered += [(len(told), call_id) for call_id in waiting.elements()]
                waiting.clear()
            if isinstance(item, ToolOutputItem):
                name = item.late_for or names.get(item.call_id, "a tool")
                told.append(ToolOutputItem(item.item_id, item.call_id, item.output, item.status, name))
                continue
        told.append(item)
    # some models give several calls one id; an output answers only one of them
    unanswered += [(len(told), call_id) for call_id in waiting.elements()]
    for place, call_id in reversed(unanswered):
        if call_id in answered:
            told.insert(place, ToolOutputItem("", call_id, PENDING))
    return told


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
