"""Codes that say why something ended: an answer, a caller's turn, a call. "" is unknown, as in old logs."""

from __future__ import annotations

from typing import Literal

from voiceagent.conversation.client_requests import OutputCleared, Request
from voiceagent.conversation.end_of_turn.probability import EndpointingRule

InterruptedBy = Literal[
    "",
    "duration",
    "words",
    "stop_word",
    "resumed_turn",
    "correction",
    "key",
    "client",
    "sideband",
    "upstream",
]
"""Cause of an answer's interruption.

Rules for the caller's voice: duration; words, their number; stop_word, such as "stop"; resumed_turn, a word
or a voice that continues a turn which was answered too early. Others: correction, the back LLM contradicted
the answer; key, a phone key; client, sideband, a request; upstream, the realtime backend.
"""
BARGE_IN: frozenset[InterruptedBy] = frozenset(("duration", "words", "stop_word", "resumed_turn"))
"""Interruptions by the caller's voice."""
TurnEndCode = EndpointingRule | Literal["silence", "longest_silence", "client", "upstream"]
"""The rule that ended a caller's turn.

silence: the fixed silence of `server_vad`. `EndpointingRule`: the rule of `semantic_vad` that set the
endpointing delay; longest_silence: there, no final transcript came within the longest delay. client: a
commit. upstream: the realtime backend.
"""
CallEndCode = Literal[
    "",
    "caller_hung_up",
    "connection_lost",
    "not_connected",
    "agent_hung_up",
    "caller_silent",
    "transferred",
    "hung_up_by_id",
    "idle",
    "max_duration",
    "invalid_message",
    "too_much_input",
    "client_too_slow",
    "server_shutdown",
    "server_error",
    "upstream_lost",
    "process_lost",
]
"""Cause of a call's end; its reason has the details.

connection_lost: without a goodbye. not_connected: the client never connected. caller_silent: they did not
answer the prompts of a silent line. hung_up_by_id: over HTTP. idle: the client sent nothing. client_too_slow:
it did not read. process_lost: the server's process died.
"""


def cause_of(request: Request) -> InterruptedBy:
    """Return the cause of an interruption that a client requested."""
    if isinstance(request, OutputCleared) and request.by_key:
        return "key"
    return "sideband" if request.sideband else "client"
