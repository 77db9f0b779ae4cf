"""A call whose core was an upstream, run again from its log: what that told comes as it came. Pure."""

from __future__ import annotations

from voiceagent.calls.log.event_log import CallLog
from voiceagent.calls.replaying.replay import (
    CannotReplay,
    Handle,
    LoggedIds,
    check_words,
    has_upstream,
    new_conversation,
)
from voiceagent.conversation import events as ev
from voiceagent.conversation.commands import Command
from voiceagent.upstream.conversation import UpstreamConversation
from voiceagent.upstream.messages import Wanted, from_logged, without_traffic

_OF_THE_CONNECTION = ("connected", "lost", "given up")


def begin_again(log: CallLog, ids: LoggedIds) -> Handle:
    """A call as the log's began, whatever its core was. Raises CannotReplay."""
    if not has_upstream(log):
        return new_conversation(log, ids).handle
    check_words(log)
    events = [record.event for record in log.records if isinstance(record.event, ev.UpstreamTold)]
    if any(not event.told and event.name not in _OF_THE_CONNECTION for event in events):
        raise CannotReplay("the core of this call was an upstream, and this log does not have what that told")
    conversation = UpstreamConversation(log.header.settings, "", log.header.policy.limits, ids)

    def handle(event: ev.Event) -> list[Command]:
        return without_traffic(_wanted(conversation, event))

    return handle


def _wanted(conversation: UpstreamConversation, event: ev.Event) -> list[Wanted]:
    match event:
        case ev.UpstreamTold("connected"):
            return conversation.connected()
        case ev.UpstreamTold("lost"):
            return conversation.lost()
        case ev.UpstreamTold("given up", apology, sound):
            return conversation.give_up(apology, sound)
        case ev.UpstreamTold():
            try:
                return conversation.take(from_logged(event))
            except (KeyError, TypeError, ValueError):  # one that could not be read in the call either
                return []
        case _:
            return conversation.handle(event)
