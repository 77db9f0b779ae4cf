"""A client's requests to commit or clear the input audio."""

from __future__ import annotations

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import interruption
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.commands import Command
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.turn.caller import Caller


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
        commands.append(interruption.resume_playout())
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
        commands.append(interruption.resume_playout())
    return [*commands, do.ClearInput(), notify.NotifyInputCleared()]
