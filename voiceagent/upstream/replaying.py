"""Replay of a call from its log, with local engines or a backend, whose events come from the log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.replay import (
    CannotReplay,
    Handle,
    LoggedIds,
    check_words,
    has_upstream,
    new_conversation,
    whole_records,
)
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, Item, MessageItem
from voiceagent.upstream.apis import WAITED, new_api
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import Action, for_log, from_logged

_OF_THE_CONNECTION = ("called", "connected", "lost", "too far ahead", "given up", WAITED)


def replay_handler(log: CallLog, ids: LoggedIds) -> Handle:
    """Return the event handler of a new conversation like the log's. Raises CannotReplay."""
    handle, _ = _conversation(log, ids)
    return handle


def transcript_of(log: CallLog, after_event: Callable[[], None] = lambda: None) -> list[Item]:
    """Return the transcript and tool calls of a log, as its history ends.

    A response in progress has the text written so far. after_event: called after every event. Raises
    CannotReplay.
    """
    ids, written = LoggedIds(), defaultdict[str, str](str)
    handle, history = _conversation(log, ids)
    for record in whole_records(log):
        ids.expect(record.ids)
        with suppress(Exception):  # an event that failed in the call fails here too
            handle(record.event)
        for command in record.commands:
            if command["type"] == "NotifyResponseText":
                written[command["item_id"]] += command["text"]
        after_event()
    return [
        replace(item, text=written[item.item_id])
        if isinstance(item, MessageItem) and item.role == "assistant" and item.status == "in_progress"
        else item
        for item in history.items
    ]


def _conversation(log: CallLog, ids: LoggedIds) -> tuple[Handle, History]:
    if not has_upstream(log):
        own = new_conversation(log, ids)
        return own.handle, own.history
    check_words(log)
    events = [record.event for record in log.records if isinstance(record.event, ev.UpstreamEvent)]
    if any(not event.body and event.name not in _OF_THE_CONNECTION for event in events):
        raise CannotReplay("the core of this call was an upstream, and this log does not have its events")
    api = new_api(next((event.body for event in events if event.name == "called"), ""), ids)
    conversation = UpstreamConversation(log.header.settings, "", log.header.policy.limits, ids, api)

    def handle(event: ev.Event) -> list[Command]:
        return for_log(_commands(conversation, event))

    return handle, conversation.history


def _commands(conversation: UpstreamConversation, event: ev.Event) -> list[Action]:
    match event:
        case ev.UpstreamEvent("called"):
            return []
        case ev.UpstreamEvent("connected"):
            return conversation.connected()
        case ev.UpstreamEvent(name, wait) if name == WAITED:
            return conversation.waited(wait)
        case ev.UpstreamEvent("lost"):
            return conversation.lost()
        case ev.UpstreamEvent("too far ahead"):
            return conversation.drop_audio()
        case ev.UpstreamEvent("given up", apology, sound):
            return conversation.give_up(apology, sound)
        case ev.UpstreamEvent():
            try:
                return conversation.on_upstream_event(from_logged(event))
            except (KeyError, TypeError, ValueError):  # invalid in the call, too
                return []
        case _:
            return conversation.handle(event)
