"""A client's requests about single items and the input audio, and their consequences for the call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from audio.recognizers import SAMPLE_RATE_HZ
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import cause_of
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, MessageItem, ToolOutputItem, UnknownItem
from voiceagent.conversation.history_room import HistoryLimits, LimitExceeded, make_room
from voiceagent.conversation.mcp import McpApprovalResponse
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.response.played_text import PlayedText
from voiceagent.conversation.settings import OUTPUT_FRAME_S, CallSettings
from voiceagent.conversation.tool_calls import ToolCalls
from voiceagent.conversation.turn.caller import Caller

ItemRequest = ev.ItemCreated | ev.ItemDeleted | ev.ItemRetrieved | ev.ItemTruncated


class ItemRequests:
    """Applies a client's item requests to the history. Truncating the response being played stops it; an
    approval response decides a tool call.
    """

    def __init__(
        self,
        history: History,
        responses: CurrentResponse,
        tools: ToolCalls,
        limits: HistoryLimits,
        caller: Caller,
    ) -> None:
        self._history = history
        self._caller = caller
        self._responses = responses
        self._tools = tools
        self._limits = limits

    def handle(self, request: ItemRequest, settings: CallSettings | None) -> list[Command]:
        """Execute a request. settings: current ones, None before the call has started."""
        response = self._responses.active
        playing = response.item_id if response is not None and response.spoken and response.joined else None
        if isinstance(request, ev.ItemTruncated) and request.item_id == playing:
            return self._responses.truncate(request.played_s, cause_of(request))
        item = request.item if isinstance(request, ev.ItemCreated) else None
        if isinstance(item, McpApprovalResponse) and not self._tools.awaits_approval(item.request_id):
            message = f"no request for approval {item.request_id!r} waits for an answer"
            param = "item.approval_request_id"
            return [notify.NotifyError("item_not_found", message, param, request.client_event_id)]
        frame_s = OUTPUT_FRAME_S if settings is None else settings.output_frame_s
        commands: list[Command] = list(
            _apply(request, self._history, self._responses.played_texts, self._limits, frame_s)
        )
        if isinstance(item, McpApprovalResponse):
            taken = any(isinstance(command, notify.NotifyItemAdded) for command in commands)
            return commands + (self._tools.on_approval(item) if taken else [])
        if isinstance(request, ev.ItemCreated) and len(request.sound):
            created = any(isinstance(command, notify.NotifyItemAdded) for command in commands)
            return commands + (self._recognize(request) if created else [])
        if settings is not None and isinstance(item, MessageItem) and item.role == "user":
            commands += self._on_typed_input(item, settings)
        return commands

    def _recognize(self, request: ev.ItemCreated) -> list[Command]:
        assert isinstance(request.item, MessageItem)
        seconds = len(request.sound) / SAMPLE_RATE_HZ
        self._caller.add_item_turn(request.item, seconds)
        return [do.RecognizeItem(request.item.item_id, request.sound)]

    def _on_typed_input(self, item: MessageItem, settings: CallSettings) -> list[Command]:
        """Start an answer for typed or keyed input, and notify the agent's code of it."""
        self._tools.begin_answer()
        return [do.TurnConcluded(item.text)] if settings.agent else []


def _apply(
    request: ItemRequest,
    history: History,
    sounds: Mapping[str, PlayedText],
    limits: HistoryLimits,
    frame_s: float,
) -> list[notify.Notification]:
    """Change the history as requested. Return the notifications, or an error if the request is invalid.

    sounds: playback state of spoken items, by item id. limits: for what the client adds. frame_s: length of
    the sent audio frames.
    """
    try:
        match request:
            case ev.ItemCreated():
                return _create(request, history, limits)
            case ev.ItemDeleted(item_id):
                history.delete(item_id)
                history.edits += 1
                return [notify.NotifyItemDeleted(item_id)]
            case ev.ItemRetrieved(item_id):
                return [notify.NotifyItemRetrieved(history.get(item_id))]
            case ev.ItemTruncated():
                return _truncate(request, history, sounds, frame_s)
    except UnknownItem as unknown:
        return [notify.item_not_found(unknown.args[0], verb_of(request), request.client_event_id)]


def verb_of(request: ItemRequest) -> Literal["create", "delete", "retrieve", "truncate"]:
    """Return the request's verb in the protocol."""
    match request:
        case ev.ItemCreated():
            return "create"
        case ev.ItemDeleted():
            return "delete"
        case ev.ItemRetrieved():
            return "retrieve"
        case ev.ItemTruncated():
            return "truncate"


def _create(request: ev.ItemCreated, history: History, limits: HistoryLimits) -> list[notify.Notification]:
    item = request.item
    if item.item_id in history:
        message = f"an item {item.item_id!r} is in the conversation already; choose another id"
        return [notify.NotifyError(notify.ITEM_EXISTS, message, "item.id", request.client_event_id)]
    if isinstance(item, ToolOutputItem) and item.call_id in history.outputs():
        message = f"the function call {item.call_id!r} has its output already"
        return [notify.NotifyError(notify.ITEM_EXISTS, message, "item.call_id", request.client_event_id)]
    try:
        item = make_room(history, item, limits)
    except LimitExceeded as error:
        return [notify.NotifyError("limit_exceeded", str(error), "item", request.client_event_id)]
    history.insert(item, request.previous_id)
    history.edits += history.last_id() != item.item_id
    previous = history.previous_id(item.item_id)
    return [notify.NotifyItemAdded(item, previous), notify.NotifyItemDone(item, previous)]


def _truncate(
    request: ev.ItemTruncated, history: History, sounds: Mapping[str, PlayedText], frame_s: float
) -> list[notify.Notification]:
    item = history.get(request.item_id)
    sound = sounds.get(request.item_id)
    if not isinstance(item, MessageItem) or item.role != "assistant" or sound is None:
        message = f"item {request.item_id!r} has no sound of the agent that could be truncated"
        return [notify.NotifyError("invalid_item", message, "item_id", request.client_event_id)]
    sent_s = _sent_s(sound.sound_s, frame_s)
    if request.played_s > sent_s:
        asked_ms, length_ms = round(request.played_s * 1000), round(sent_s * 1000)
        message = f"audio_end_ms is {asked_ms}, but the sound of item {request.item_id!r} has {length_ms} ms"
        return [notify.NotifyError("invalid_value", message, "audio_end_ms", request.client_event_id)]
    played = sound.played(request.played_s)
    history.put(replace(item, text=played, status="incomplete"))
    history.edits += 1
    return [notify.NotifyItemTruncated(request.item_id, request.played_s)]


def _sent_s(sound_s: float, frame_s: float) -> float:
    """Return the most audio, in seconds, that a client can have received of `sound_s`.

    The last frame is padded with silence, and resampling may carry the end into one more frame.
    """
    return (math.floor(sound_s / frame_s) + 1) * frame_s + 0.001  # clients count in whole milliseconds


def commit_input(event: ev.InputCommitted, caller: Caller, responses: CurrentResponse) -> list[Command]:
    """End the turn in progress on the client's request, or return an error if there is none. The caller
    concludes the turn if it is settled.
    """
    turn = caller.open
    if turn is None:
        message = "the input audio buffer is empty; append sound before committing it"
        code = "input_audio_buffer_commit_empty"
        return [notify.NotifyError(code, message, client_event_id=event.client_event_id)]
    commands = responses.cancel_preemptive()
    if not turn.announced:
        commands.append(do.RestorePlayout())
    commands += caller.end_by_client(turn, event.buffered_s)
    commands += caller.commit(turn, by_voice=False)
    commands.append(do.ClearInput())
    return commands


def clear_input(caller: Caller, responses: CurrentResponse) -> list[Command]:
    """Drop the turn in progress and restore the agent's playout."""
    commands: list[Command] = []
    if caller.open is not None:
        commands += caller.drop(caller.open)
        commands += responses.cancel_preemptive()
        commands.append(do.RestorePlayout())
    return [*commands, do.ClearInput(), notify.NotifyInputCleared()]
