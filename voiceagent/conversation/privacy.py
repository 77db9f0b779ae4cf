"""Events and commands without the caller's words, keys and audio, for logs and traces, while the agent's code
collects private input.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import MessageItem
from voiceagent.conversation.turn.caller_turn import WITHHELD


def withheld_event(event: ev.Event) -> ev.Event:
    """Return an event without the caller's words, keys and audio."""
    match event:
        case ev.TranscriptChanged():
            earlier = tuple(map(_withheld, event.earlier))
            stable = _withheld(event.stable)
            return replace(event, text=_withheld(event.text), stable=stable, earlier=earlier)
        case ev.TranscriptRevised(item_id, text, earlier):
            return ev.TranscriptRevised(item_id, _withheld(text), tuple(map(_withheld, earlier)))
        case ev.TurnEndScored():
            return replace(event, words=_withheld(event.words))
        case ev.KeyPressed():
            return replace(event, digit="*")
        case ev.ItemCreated():
            return replace(withheld_item(event), sound=np.zeros_like(event.sound))
    return event


def withheld_item(event: ev.ItemCreated) -> ev.ItemCreated:
    """Return a request for a user's message without its text, but with its audio, which is recognized."""
    item = event.item
    if not isinstance(item, MessageItem) or item.role != "user":
        return event
    return replace(event, item=replace(item, text=_withheld(item.text)))


def withheld_commands(commands: Iterable[Command]) -> list[Command]:
    """Return commands without the caller's words, keys and audio."""
    return [_withheld_command(command) for command in commands]


def _withheld_command(command: Command) -> Command:
    match command:
        case do.TurnConcluded(text):
            return do.TurnConcluded(_withheld(text))
        case do.RecognizeItem(item_id, sound):
            return do.RecognizeItem(item_id, np.zeros_like(sound))
        case notify.NotifyKeyPressed():
            return replace(command, digit="*")
    return command


def _withheld(text: str) -> str:
    return WITHHELD if text else ""
