"""A client's requests about single items of the conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History, HistoryLimits, MessageItem, TooMuch, UnknownItem
from voiceagent.conversation.response.played_text import PlayedText

ItemRequest = ev.ItemCreated | ev.ItemDeleted | ev.ItemRetrieved | ev.ItemTruncated


def carry_out(
    request: ItemRequest, history: History, sounds: Mapping[str, PlayedText], limits: HistoryLimits
) -> list[notify.Notification]:
    """Change the history as asked; returns the notifications, an error where it cannot be done.

    sounds: what is known of the sound of spoken items, by item id. limits: how much may be put in.
    """
    try:
        match request:
            case ev.ItemCreated():
                return _create(request, history, limits)
            case ev.ItemDeleted(item_id):
                history.delete(item_id)
                return [notify.NotifyItemDeleted(item_id)]
            case ev.ItemRetrieved(item_id):
                return [notify.NotifyItemRetrieved(history.get(item_id))]
            case ev.ItemTruncated():
                return _truncate(request, history, sounds)
    except UnknownItem as unknown:
        message = f"there is no item {unknown.args[0]!r} in the conversation"
        param = "previous_item_id" if isinstance(request, ev.ItemCreated) else "item_id"
        return [notify.NotifyError("item_not_found", message, param, request.client_event_id)]


def _create(request: ev.ItemCreated, history: History, limits: HistoryLimits) -> list[notify.Notification]:
    item = request.item
    if item.item_id in history:
        message = f"an item {item.item_id!r} is in the conversation already; choose another id"
        return [notify.NotifyError("item_exists", message, "item.id", request.client_event_id)]
    try:
        history.check_room(item, limits)
    except TooMuch as error:
        return [notify.NotifyError("limit_exceeded", str(error), "item", request.client_event_id)]
    history.insert(item, request.previous_id)
    previous = history.previous_id(item.item_id)
    return [notify.NotifyItemAdded(item, previous), notify.NotifyItemDone(item, previous)]


def _truncate(
    request: ev.ItemTruncated, history: History, sounds: Mapping[str, PlayedText]
) -> list[notify.Notification]:
    item = history.get(request.item_id)
    sound = sounds.get(request.item_id)
    if not isinstance(item, MessageItem) or item.role != "assistant" or sound is None:
        message = f"item {request.item_id!r} has no sound of the agent that could be truncated"
        return [notify.NotifyError("invalid_item", message, "item_id", request.client_event_id)]
    if request.played_s > sound.sound_s + 0.001:
        asked_ms, length_ms = round(request.played_s * 1000), round(sound.sound_s * 1000)
        message = f"audio_end_ms is {asked_ms}, but the sound of item {request.item_id!r} has {length_ms} ms"
        return [notify.NotifyError("invalid_value", message, "audio_end_ms", request.client_event_id)]
    played = sound.played(request.played_s)
    history.put(replace(item, text=played, status="incomplete"))
    return [notify.NotifyItemTruncated(request.item_id, request.played_s)]
