"""Room in the history for the items of clients: what is cut, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace

from voiceagent.conversation.history import History, Item, ToolOutputItem, characters, pictures
from voiceagent.conversation.mcp import McpCallItem

CUT_OUTPUT_CHARACTERS = 200
"""Length of an old tool output after it was cut, with the note of what is missing: 2,000 of them fit."""
SHARE_AFTER_CUTTING = 0.5
"""Share of the conversation's characters down to which old outputs are cut. Cutting changes the prefix that
prompts share, so that it must be rare.
"""


@dataclass(frozen=True, slots=True)
class HistoryLimits:
    """Limits for the history that a client may create: items, characters of one item and of all, pictures.

    cuts_outputs: tools' outputs are cut where they exceed a limit; False in logs of builds that refused them.
    """

    max_items: int
    max_item_characters: int
    max_conversation_characters: int
    max_images: int
    cuts_outputs: bool = False


class LimitExceeded(ValueError):
    """A client's item exceeds a limit, which the message names."""


def make_room(history: History, item: Item, limits: HistoryLimits) -> Item:
    """Return the client's item as it may be added: a tool's output that is too long is cut, as a call that
    waits for it must go on. If the history becomes too long, its oldest tool outputs are cut.

    Raises LimitExceeded.
    """
    if isinstance(item, ToolOutputItem) and limits.cuts_outputs:
        item = replace(item, output=_cut(item.output, limits.max_item_characters))
    _check_item(history, item, limits)
    most = limits.max_conversation_characters
    size = characters(item) + sum(map(characters, history.items))
    if size > most and limits.cuts_outputs:
        size = _cut_old_outputs(history, size, round(most * SHARE_AFTER_CUTTING))
    if size > most:
        raise LimitExceeded(f"the conversation would have {size} characters; allowed: at most {most}")
    return item


def is_cut_from(item: Item, earlier: Item) -> bool:
    """Return True if `item` is `earlier` with its tool output cut."""
    match item, earlier:
        case (ToolOutputItem(output=output), ToolOutputItem()) if len(output) < len(earlier.output):
            return replace(earlier, output=output) == item
        case (McpCallItem(output=str(output)), McpCallItem(output=str(whole))) if len(output) < len(whole):
            return replace(earlier, output=output) == item
    return False


def _check_item(history: History, item: Item, limits: HistoryLimits) -> None:
    # counted only here: nearly all items have no pictures, and counting all items is slow
    if pictures(item) and sum(map(pictures, (item, *history.items))) > limits.max_images:
        raise LimitExceeded(f"the conversation has too many pictures; allowed: at most {limits.max_images}")
    if (size := characters(item)) > limits.max_item_characters:
        raise LimitExceeded(f"the item has {size} characters; allowed: at most {limits.max_item_characters}")
    if (count := len(history.items) + 1) > limits.max_items:
        raise LimitExceeded(f"the conversation would have {count} items; allowed: at most {limits.max_items}")


def _cut_old_outputs(history: History, size: int, wanted: int) -> int:
    """Cut outputs, the oldest first, until `wanted` characters are left. Return the characters left."""
    for item in list(history.items):
        if size <= wanted:
            break
        if isinstance(item, ToolOutputItem | McpCallItem) and item.output:
            shorter = replace(item, output=_cut(item.output, CUT_OUTPUT_CHARACTERS))
            if (saved := characters(item) - characters(shorter)) > 0:
                history.put(shorter)
                history.edits += 1
                size -= saved
    return size


def _cut(output: str, most: int) -> str:
    """Return the beginning of an output, with a note for the model, or all of it if it has at most `most`."""
    if len(output) <= most:
        return output
    note = f" … (cut here; the whole output has {len(output)} characters)"
    return output[: max(most - len(note), 0)] + note
