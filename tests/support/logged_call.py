"""The log of a call without engines, as a session would have it written."""

from __future__ import annotations

from dataclasses import replace

from call_world import RATE_HZ, CallWorld

from voiceagent.calls.log.entries import CallEnded, Header, Record, heard_texts
from voiceagent.calls.log.event_log import LogWriter
from voiceagent.calls.log.texts import Words
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.latency import LatencyBudget, TurnLedger


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
    lines.append(
        writer.entry(CallEnded("the caller hung up", 100.0 + len(lines) / 2, heard, "caller_hung_up"))
    )
    return b"".join(lines)


def reported(world: CallWorld, outcome: str = "completed") -> bytes:
    """The log of a call with a report behind each response's end, as a session writes it."""
    header, *lines = log_of(world).splitlines(keepends=True)
    writer, out = LogWriter(), [header]
    for step, line in zip(world.steps, lines, strict=False):
        out.append(line)
        for command in step.commands:
            if isinstance(command, notify.NotifyResponseEnded):
                turns = [step.commands for step in world.steps]
                started = [c for commands in turns for c in commands if type(c).__name__ == "StartResponse"]
                turn = next(c.turn_id for c in started if c.response_id == command.response_id)
                ledger = _waited(turn or command.response_id)
                ledger.stamp("first_frame", 1.2)
                out.append(writer.entry(ledger.report(LatencyBudget({"endpointing": 0.1}), outcome)))
    return b"".join([*out, *lines[len(world.steps) :]])


def reported_at_the_end(world: CallWorld, turn_id: str, response_id: str) -> bytes:
    """The log of a call that ended while this response was heard, as a session writes it."""
    *lines, ended = log_of(world).splitlines(keepends=True)
    ledger = _waited(turn_id)
    ledger.stamp("first_frame", 1.5)
    report = replace(ledger.hung_up(LatencyBudget()), response_id=response_id)
    return b"".join([*lines, LogWriter().entry(report), ended])


def _waited(turn_id: str) -> TurnLedger:
    ledger = TurnLedger(turn_id)
    ledger.stamp("speech_end", 1.0)
    ledger.stamp("turn_decided", 1.2)
    return ledger
