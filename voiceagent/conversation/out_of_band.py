"""Out-of-band responses: texts that a client requests outside the conversation and that are never spoken."""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import cause_of
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History
from voiceagent.conversation.prompting.prompts import Prompts
from voiceagent.conversation.prompting.request import has_own_prompt
from voiceagent.conversation.response.current import CurrentResponse
from voiceagent.conversation.settings import CallSettings
from voiceagent.conversation.tool_calls import ToolCalls

MAX_OUT_OF_BAND = 4
"""Maximum number per call, pending ones included. Each is an additional LLM request."""


def runs_out_of_band(wanted: ev.ResponseRequested, settings: CallSettings) -> bool:
    """Return True if a response can run out of band. Spoken ones cannot: the call has one voice."""
    return not wanted.in_conversation and (wanted.modality or settings.output_modality) == "text"


class OutOfBandResponses:
    """Owner of the out-of-band responses. The conversation neither waits for them nor interrupts them.
    Methods return the commands that follow.
    """

    def __init__(
        self, history: History, prompts: Prompts, tools: ToolCalls, new_id: Callable[[str], str]
    ) -> None:
        self._history = history
        self._prompts = prompts
        self._tools = tools
        self._new_id = new_id
        self._queue: list[ev.ResponseRequested] = []
        self._running: dict[str, CurrentResponse] = {}

    def __contains__(self, response_id: str | None) -> bool:
        return response_id in self._running

    def request(self, wanted: ev.ResponseRequested) -> list[Command]:
        """Queue a client's request for `start_queued`."""
        if len(self._queue) + len(self._running) >= MAX_OUT_OF_BAND:
            message = f"{MAX_OUT_OF_BAND} out-of-band responses are in progress; wait for a response.done"
            code = notify.RESPONSE_IN_PROGRESS
            return [notify.NotifyError(code, message, client_event_id=wanted.client_event_id)]
        self._queue.append(wanted)
        return []

    def start_queued(self, settings: CallSettings, settled: bool) -> list[Command]:
        """Start the queued responses. settled: all transcripts are in the history; responses that have the
        history as their prompt wait for that.
        """
        ready = [wanted for wanted in self._queue if settled or wanted.messages is not None]
        self._queue = [wanted for wanted in self._queue if wanted not in ready]
        return [command for wanted in ready for command in self._start(wanted, settings)]

    def handle(self, event: ev.ResponseEvent, settings: CallSettings) -> list[Command]:
        return self._drop_if_over(event.response_id, self._running[event.response_id].handle(event, settings))

    def cancel(self, response_id: str, event: ev.ResponseCancelled) -> list[Command]:
        """Cancel a response on the client's request."""
        return self._drop_if_over(response_id, self._running[response_id].stop(cause_of(event)))

    def _start(self, wanted: ev.ResponseRequested, settings: CallSettings) -> list[Command]:
        response_id = self._new_id("resp")
        start = do.StartResponse(
            response_id,
            self._prompts.for_response(wanted, settings),
            "text",
            own_prompt=has_own_prompt(wanted),
            replacements=self._prompts.replacements,
            edits=self._prompts.edits,
            out_of_band=True,
        )
        # text has no sample rate
        response = self._running[response_id] = CurrentResponse(self._history, 1, self._new_id, self._tools)
        return response.start(start, wanted)

    def _drop_if_over(self, response_id: str, commands: list[Command]) -> list[Command]:
        if self._running[response_id].pop_ended():
            del self._running[response_id]
        return commands
