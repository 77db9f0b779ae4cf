"""Conversation items of a call with a backend: changes are sent there, and the client is notified."""

from __future__ import annotations

from audio.pcm import Samples
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History, Item, MessageItem, UnknownItem
from voiceagent.conversation.history_room import HistoryLimits, LimitExceeded, make_room
from voiceagent.conversation.item_requests import ItemRequest, verb_of
from voiceagent.upstream import messages
from voiceagent.upstream.messages import Action, Event, Send


def add(
    history: History,
    item: Item,
    connected: bool,
    previous_id: str | None = None,
    sound: Samples | None = None,
) -> list[Action]:
    """Add an item. The backend gets it now or when it connects. Raises UnknownItem.

    sound: see `ItemCreated`; the backend recognizes it itself.
    """
    history.insert(item, previous_id)
    behind = history.previous_id(item.item_id)
    sent = [Send(messages.item_created(item, previous_id, sound))] if connected else []
    return [*sent, notify.NotifyItemAdded(item, behind), notify.NotifyItemDone(item, behind)]


def carry_out(request: ItemRequest, history: History, limits: HistoryLimits, connected: bool) -> list[Action]:
    """Execute a client's item request, or notify it of the error. limits: maximum history from a client."""
    try:
        return _carried_out(request, history, limits, connected)
    except UnknownItem as error:
        return [notify.item_not_found(error.args[0], verb_of(request), request.client_event_id)]
    except LimitExceeded as error:
        return [notify.NotifyError("limit_exceeded", str(error), "item")]


def _carried_out(
    request: ItemRequest, history: History, limits: HistoryLimits, connected: bool
) -> list[Action]:
    sent: Event
    match request:
        case ev.ItemCreated(item, previous_id, sound=sound):
            if item.item_id in history:
                message = f"an item {item.item_id!r} is in the conversation already; choose another id"
                return [notify.NotifyError(notify.ITEM_EXISTS, message, "item.id")]
            item = make_room(history, item, limits)
            return add(history, item, connected, previous_id, sound)
        case ev.ItemRetrieved(item_id):
            return [notify.NotifyItemRetrieved(history.get(item_id))]
        case ev.ItemDeleted(item_id):
            history.delete(item_id)
            sent = {"type": "conversation.item.delete", "item_id": item_id}
            notifications: Action = notify.NotifyItemDeleted(item_id)
        case ev.ItemTruncated(item_id, played_s):
            sent, notifications = (
                messages.item_truncated(item_id, played_s),
                notify.NotifyItemTruncated(item_id, played_s),
            )
    return [*([Send(sent)] if connected else []), notifications]


def spoken(history: History, kind: str, item: Item | None) -> list[Action]:
    """Record an item of the caller's speech that the backend created or completed."""
    if not (isinstance(item, MessageItem) and item.role == "user" and item.spoken):
        return []
    if item.item_id not in history:
        history.insert(item)
        return [notify.NotifyItemAdded(item, history.previous_id(item.item_id))]
    if kind != "conversation.item.done":
        return []
    return [notify.NotifyItemDone(item, history.previous_id(item.item_id))]


def transcribed(history: History, what: str, event: Event) -> list[Action]:
    """Process a transcription event of such an item."""
    item_id = event["item_id"]
    match what:
        case "delta":
            return [notify.NotifyTranscript(item_id, event.get("delta", ""), final=False)]
        case "failed":
            reason = messages.failure_of({"status_details": event})
            return [notify.NotifyTranscriptFailed(item_id, reason)]
        case "completed":
            text = event["transcript"].strip()
            if item_id in history:
                history.put(MessageItem(item_id, "user", text, spoken=True))
            notifications: list[Action] = [notify.NotifyTranscript(item_id, text, final=True)]
            return [*notifications, do.TurnConcluded(text)] if text else notifications
        case _:
            return []
