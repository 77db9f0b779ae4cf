"""The items of a conversation: what was said and what was played."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from llmcore.engine import LOGGED_IF_SET, ToolCall
from voiceagent.conversation.mcp import (
    McpApprovalRequest,
    McpApprovalResponse,
    McpCallItem,
    McpItem,
    McpListItem,
)

ItemStatus = Literal["in_progress", "completed", "incomplete"]

CANCELLED = "cancelled: the caller went on"
"""Stands in prompts for the output of a cancelled call, before and after it has ended."""
CANCELLED_BY_MODEL = "cancelled: the model cancelled it"
"""Output of a call that the model cancelled."""


@dataclass(frozen=True, slots=True)
class MessageItem:
    """A message of one side. spoken: it was audio; `text` is the transcript or the played part. by_line:
    information of the telephony provider for the model, not said by anyone. opaque: data that the LLM server
    attached to the text; it is returned to that server with it. images: pictures, as data URLs. filler,
    apology: these set phrases at the start and the end of `text`, which prompts leave out: small models
    repeat them in later answers.
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
    apology: str = field(default="", metadata=LOGGED_IF_SET)

    @property
    def prompt_text(self) -> str:
        """The text without its filler and apology. "" if playback was cut within the filler."""
        text = self.text.rstrip().removesuffix(self.apology).rstrip() if self.apology else self.text
        return text.lstrip()[len(self.filler) :].lstrip() if self.filler else text


@dataclass(frozen=True, slots=True)
class ToolCallItem:
    """A tool call of the model."""

    item_id: str
    call: ToolCall
    status: ItemStatus = "completed"


@dataclass(frozen=True, slots=True)
class ToolOutputItem:
    """The output of call `call_id`. late_for: the tool's name if the conversation went on before."""

    item_id: str
    call_id: str
    output: str
    status: ItemStatus = "completed"
    late_for: str = ""


Item = MessageItem | ToolCallItem | ToolOutputItem | McpItem


class UnknownItem(LookupError):
    """No item of the conversation has this id."""


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

    def last_agent_words(self) -> str:
        """Return the agent's newest text, "" if there is none."""
        said = (item for item in reversed(self.items) if isinstance(item, MessageItem))
        return next((item.text for item in said if item.role == "assistant"), "")

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

    def with_planned(self, planned: PlannedWords) -> list[Item]:
        """Return the items with text that is still being played."""
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
    return len(item.images) if isinstance(item, MessageItem) else 0
