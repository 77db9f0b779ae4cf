"""The log of a call without engines, as a session would have it written."""

from __future__ import annotations

from call_world import RATE_HZ, CallWorld

from voiceagent.calls.log.event_log import CallEnded, Header, LogWriter, Record, heard_texts
from voiceagent.calls.log.texts import Words


def log_of(world: CallWorld, words: Words = "keep") -> bytes:
    """All that happened in a call, half a second after each other."""
    writer = LogWriter(words)
    header = Header("call_1", 1.8e9, 100.0, world.settings, world.policy, RATE_HZ, {"voiceagent": "0"}, words)
    lines = [writer.header(header)]
    for number, step in enumerate(world.steps, 1):
        at_s = number / 2
        record = Record(number, 100.0 + at_s, at_s, step.event, step.ids, step.commands)
        lines.append(writer.entry(record))
    heard = heard_texts(world.conversation.history.items)
    lines.append(writer.entry(CallEnded("the caller hung up", 100.0 + len(lines) / 2, heard)))
    return b"".join(lines)
