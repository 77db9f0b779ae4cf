"""State of a call whose core is a realtime backend.

The backend recognizes, answers and speaks; this keeps track of what the caller has heard, of the history, of
the agent's tools, and notifies the client. Events in, commands out, as in `voiceagent.conversation`; messages
for the backend are `Send` commands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from audio.pcm import Samples
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.causes import InterruptedBy, cause_of
from voiceagent.conversation.history import History, MessageItem, ToolOutputItem
from voiceagent.conversation.history_room import HistoryLimits
from voiceagent.conversation.item_requests import ItemRequest
from voiceagent.conversation.out_of_band import runs_out_of_band
from voiceagent.conversation.settings import CallSettings
from voiceagent.upstream import items, messages
from voiceagent.upstream.api import UpstreamApi
from voiceagent.upstream.messages import Action, Event, Send, Wait
from voiceagent.upstream.response_queue import OutOfBandResponses, ResponseQueue
from voiceagent.upstream.responses import Cut, Response, Responses


class UpstreamConversation:
    """State of one call.

    transcription: the backend's model for the caller's transcript. limits: maximum history from a client.
    new_id: creates ids. api: the backend's.
    """

    def __init__(
        self,
        settings: CallSettings,
        transcription: str,
        limits: HistoryLimits,
        new_id: Callable[[str], str],
        api: UpstreamApi,
    ) -> None:
        self.settings = settings
        self._api = api
        self.history = History()
        self._transcription = transcription
        self._limits = limits
        self._new_id = new_id
        self._responses, self._out_of_band = Responses(self.history), OutOfBandResponses()
        self.heard = self._responses.heard
        self._queue = ResponseQueue()
        self._guidance: dict[str, str] = {}  # by running call: instruction for the response about its result
        self._interrupted_by: InterruptedBy = ""  # of the response whose playout is being stopped
        self._started = self._connected = self._speaking = self._turns_claimed = False

    @property
    def caller_speaks(self) -> bool:
        """True if the backend has reported that the caller speaks."""
        return self._speaking

    @property
    def quiet(self) -> bool:
        """True while neither side speaks; tools may run."""
        return not (self._speaking or self._responses or self._queue.is_awaiting_start)

    @property
    def usages(self) -> dict[str, Usage]:
        """Usage of each response in progress, as far as the backend has reported it."""
        return self._responses.usages()

    # ---- the connection

    def connected(self) -> list[Action]:
        """Send the settings and the history to a new connection, which knows neither."""
        self._connected = True
        notified = (item for item in self.history.items if not isinstance(item, MessageItem) or item.text)
        said = [messages.item_created(item) for item in notified]
        opening = [Send(event) for event in self._api.opening(self._session_update(), said)]
        requests = [*self._out_of_band.pending_requests(), *self._continue()]
        return [*opening, *self._to_backend(requests)]

    def lost(self) -> list[Action]:
        """Handle the loss of the connection.

        Audio received so far is played; a response without any is requested again.
        """
        self._connected = False
        commands = self._on_ours(self._api.lost())
        self._speaking = False
        reason = "the connection to the upstream was lost"
        commands += self._out_of_band.lost(reason)
        unfinished = self._responses.lost()
        self._queue.lost(any(response.sound_s == 0 for response in unfinished))
        for response in unfinished:
            failed = notify.NotifyResponseEnded(response.response_id, "failed", reason)
            commands += self._responses.ended(response, failed)
        return commands

    def check_ahead(self, played_s: float) -> None:
        """Raise ValueError if the backend's audio is too far ahead. played_s: of the response playing."""
        ahead_s, allowed_s = self._responses.sound_s - played_s, self._api.max_ahead_s
        if ahead_s > allowed_s:
            message = f"it sent {ahead_s:.0f} s of audio that was not played yet; allowed: {allowed_s:g} s"
            raise ValueError(message)

    def drop_audio(self) -> list[Action]:
        """Stop playout, and drop all audio of a backend that will be given up."""
        return self._stop_playout("upstream", cancel=False)

    def give_up(self, apology: str, sound: Samples) -> list[Action]:
        """Play the apology and end the call: no backend is available any more.

        sound: the apology, [n] at `UPSTREAM_HZ`.
        """
        response_id, item_id = self._new_id("resp"), self._new_id("item")
        place = {"response_id": response_id, "item_id": item_id}
        said = {"type": "response.output_audio_transcript.delta", **place, "delta": apology}
        self._queue.give_up("the upstream was given up")
        commands = self._responses.begin({"id": response_id})
        commands += self._on_response_event(said["type"], said)
        commands += self._responses.play(response_id, sound)
        response = self._responses.get(response_id)
        assert response is not None
        ended = notify.NotifyResponseEnded(response_id, "completed")
        return [*commands, *self._responses.ended(response, ended), *self._continue()]

    # ---- events of the call

    def handle(self, event: ev.Event) -> list[Action]:
        return self._to_backend(self._handle(event))

    def _handle(self, event: ev.Event) -> list[Action]:
        match event:
            case ev.CallStarted(greeting):
                self._started = True
                if greeting:
                    self._queue.enqueue_speech(messages.exact_speech(greeting))
                return [notify.NotifySettings(self.settings, created=True), *self._continue()]
            case ev.PlayoutSent(response_id):
                return self._responses.sent(response_id)
            case ev.PlayoutPlayed(response_id):
                response = self._responses.get(response_id)
                if response is None:
                    return []
                played = self._responses.played(response)
                return [*played, *self._restored(response), *self._continue()]
            case ev.PlayoutStopped(response_id, played_s):
                return self._on_playout_stopped(response_id, played_s)
            case ev.CallerGone(response_id, played_s):
                self._on_playout_stopped(response_id, played_s)
                return []  # the caller has hung up
            case _ if isinstance(event, ev.AgentEvent):
                return self._on_agent_event(event)
            case _ if isinstance(event, ItemRequest):
                return items.carry_out(event, self.history, self._limits, self._connected)
            case _ if isinstance(event, ev.ClientRequest):
                return self._on_client_request(event)
            case _:
                return []

    def _on_agent_event(self, event: ev.AgentEvent) -> list[Action]:
        match event:
            case ev.AgentChanged(agent, tools, instructions, voice):
                if agent != self.settings.agent:
                    self._release_guidance()
                begun = self._continue()
                self.settings = self.settings.handed_to(agent, tools, instructions, voice)
                return [*begun, *self._send(self._session_update())]
            case ev.TurnsClaimed(claimed):
                self._turns_claimed = claimed
                return [*self._send(self._session_update())]
            case ev.SpeechRequested(text):
                self._queue.enqueue_speech(messages.exact_speech(text))
            case ev.UpdateRequested(call_id, text) if call_id in self._responses.running:
                self._queue.enqueue_speech(messages.exact_speech(text))
            case ev.GuidanceRequested(call_id, guidance) if call_id in self._responses.running:
                self._guidance[call_id] = f"{self._guidance.get(call_id, '')}\n{guidance}".lstrip()
            case ev.ReplyRequested(guidance) | ev.GuidanceRequested(guidance=guidance):
                self._enqueue_guided(guidance)
            case ev.ToolSlow(call_id) if call_id in self._guidance:
                self._enqueue_guided(self._guidance.pop(call_id))
            case ev.HangUpRequested(reason):
                self._release_guidance()
                self._queue.hang_up_after(reason)
            case ev.ToolFinished(call_id, _, output, reply):
                self._responses.running.discard(call_id)
                item = ToolOutputItem(self._new_id("item"), call_id, output)
                if call_id in self._guidance:
                    self._enqueue_guided(self._guidance.pop(call_id))
                elif reply:
                    self._queue.request_answer()
                return [*items.add(self.history, item, self._connected), *self._continue()]
            case _:
                return []
        return self._continue()

    def _release_guidance(self) -> None:
        """Queue the responses whose instructions wait for running tools: no later moment can have them."""
        for call_id in list(self._guidance):
            self._enqueue_guided(self._guidance.pop(call_id))

    def _enqueue_guided(self, guidance: str) -> None:
        """Queue a response that follows this instruction."""
        instructions = f"{self.settings.instructions}\n\n{guidance}"
        self._queue.enqueue_speech(messages.guided_response(instructions))

    def _on_client_request(self, request: ev.ClientRequest) -> list[Action]:
        match request:
            case ev.SettingsChanged(settings) if settings.only_transcribes:
                message = "calls go to an upstream here; there are no transcription sessions"
                return [notify.NotifyError("invalid_value", message, "session.type")]
            case ev.SettingsChanged(settings):
                update = messages.session_update(settings, self._transcription, self._turns_claimed)
                if (refusal := self._api.refusal(update)) is not None:
                    return [notify.NotifyError("not_supported", refusal, "session")]
                self.settings = settings
                notified = [notify.NotifySettings(settings)] if self._started else []
                return [do.ConfigureSpeaking(settings), *self._send(self._session_update()), *notified]
            case ev.ResponseRequested():
                return self._on_response_requested(request)
            case ev.ResponseCancelled():
                return self._on_response_cancelled(request)
            case ev.OutputCleared():
                return self._stop_playout(cause_of(request), cancel=True)
            case ev.InputCommitted():
                return [Send({"type": "input_audio_buffer.commit"})]  # queued after the audio before it
            case ev.InputCleared():
                return [Send({"type": "input_audio_buffer.clear"})]
            case ev.ClipRequested(response_id=response_id):
                message = "calls go to an upstream here, whose sessions play no clips"
                refused = notify.NotifyError("not_supported", message, "type")
                return [refused, notify.NotifyClipEnded(response_id, completed=False)]
            case ev.KeyPressed(digit, received_at):
                return [notify.NotifyKeyPressed(digit, received_at)]
            case _:
                return []

    def _on_response_requested(self, request: ev.ResponseRequested) -> list[Action]:
        """Handle a client's request for a response.

        Without parameters it waits until neither side speaks; otherwise the backend accepts or refuses it.
        """
        if request == ev.ResponseRequested(client_event_id=request.client_event_id):
            self._queue.request_answer()
            return self._continue()
        wanted = messages.response_created(request)
        if (refusal := self._api.refusal(wanted)) is not None:
            return [notify.NotifyError("not_supported", refusal, "response", request.client_event_id)]
        if runs_out_of_band(request, self.settings):
            return self._out_of_band.ask(wanted, self._connected)
        if self._connected:
            return self._queue.ask(wanted)
        return (
            []
            if self._queue.enqueue_client_request(wanted)
            else [notify.response_in_progress(request.client_event_id)]
        )

    def _on_response_cancelled(self, request: ev.ResponseCancelled) -> list[Action]:
        """Cancel a response. An unknown id cancels none: that response may just have ended."""
        response_id = request.response_id
        if response_id in self._out_of_band:
            return [*self._send({"type": "response.cancel", "response_id": response_id})]
        if (
            response_id is None and self._queue.is_awaiting_start and not self._responses
        ):  # the request is in flight
            return [*self._send({"type": "response.cancel"})]
        known = self._responses.playing if response_id is None else self._responses.get(response_id)
        if known is None:
            return [notify.nothing_to_cancel(response_id, request.client_event_id)]
        return self._stop_playout(cause_of(request), cancel=True)

    # ---- events of the upstream

    def on_upstream_event(self, event: Event) -> list[Action]:
        """Handle an event of the backend. Raises KeyError, TypeError or ValueError if it is invalid."""
        messages.check_types(event)
        return self._to_backend(self._on_ours(self._api.incoming(event)))

    def ignores(self, event: Event) -> bool:
        """Return True if an event of the backend has no effect and need not be logged."""
        return self._api.ignores(event)

    def waited(self, name: str) -> list[Action]:
        """Handle the end of a `Wait`."""
        return self._to_backend(self._on_ours(self._api.waited(name)))

    def _on_ours(self, events: Sequence[Event | Wait]) -> list[Action]:
        """Handle events of the backend, translated."""
        return [
            action
            for event in events
            for action in ([event] if isinstance(event, Wait) else self._on_event(event))
        ]

    def _on_event(self, event: Event) -> list[Action]:
        kind = event["type"]
        if kind.startswith("response."):
            return self._on_response_event(kind, event)
        if kind.startswith("conversation.item.input_audio_transcription."):
            notified = items.transcribed(self.history, kind.rpartition(".")[2], event)
            wordless = kind.endswith(".completed") and not any(
                isinstance(one, do.TurnConcluded) for one in notified
            )
            return notified + self._continue() if wordless else notified  # the backend does not answer it
        match kind:
            case "input_audio_buffer.speech_started":
                self._speaking = True
                detection = self.settings.turn_detection
                yields = detection is None or detection.interrupt_response
                start_s = event["audio_start_ms"] / 1000  # includes the padding
                began = notify.NotifySpeechStarted(event["item_id"], start_s, not_before_s=start_s)
                return [began, *(self._stop_playout("upstream", cancel=False) if yields else ())]
            case "input_audio_buffer.speech_stopped":
                self._speaking = False
                end_s = event["audio_end_ms"] / 1000  # includes the silence
                return [notify.NotifySpeechStopped(event["item_id"], end_s, sound_end_s=end_s)]
            case "input_audio_buffer.committed":
                return [
                    notify.NotifyInputCommitted(event["item_id"], event.get("previous_item_id"), "upstream")
                ]
            case "input_audio_buffer.timeout_triggered":
                return [notify.NotifyIdle(event["item_id"], event["audio_end_ms"] / 1000)]
            case "input_audio_buffer.cleared":
                return [notify.NotifyInputCleared()]
            case "conversation.item.added" | "conversation.item.created" | "conversation.item.done":
                return items.spoken(self.history, kind, messages.read_item(event["item"]))
            case "error":
                return self._on_error(event["error"])
            case _:
                return []

    def _on_response_event(self, kind: str, event: Event) -> list[Action]:
        if kind == "response.created" and messages.is_out_of_band(event["response"]):
            return self._out_of_band.begin(event["response"])
        if messages.response_id_of(event) in self._out_of_band:
            return self._out_of_band.on_event(kind, event)
        if kind == "response.created":
            self._queue.on_started()
            return self._responses.begin(event["response"])
        return [*self._responses.on_event(kind, event, self.settings.agent_tools), *self._continue()]

    def _on_error(self, error: Event) -> list[Action]:
        """Handle an error from the backend."""
        event_id, code = error.get("event_id"), error.get("code") or error.get("type") or "upstream_error"
        busy = code == notify.RESPONSE_IN_PROGRESS
        if not self._out_of_band.on_refused(event_id) and self._queue.on_refused(event_id, busy):
            return []
        return [notify.NotifyError(code, str(error.get("message")), error.get("param"))]

    def _stop_playout(self, interrupted_by: InterruptedBy, cancel: bool) -> list[Action]:
        """Stop playout. interrupted_by: the cause. cancel: also stop the backend, which still generates."""
        playing = self._responses.playing
        if playing is None:
            return []
        made = cancel and playing.ended is None
        cancelled = self._send({"type": "response.cancel"}) if made else []
        self._interrupted_by = interrupted_by
        return [*cancelled, do.StopPlayout(playing.response_id, interrupted_by)]

    def _on_playout_stopped(self, response_id: str, played_s: float) -> list[Action]:
        """Handle a response cut after `played_s` seconds."""
        response = self._responses.get(response_id)
        if response is None:
            return []
        cuts, commands = self._responses.stopped(response, played_s)
        interrupted_by, self._interrupted_by = self._interrupted_by or "upstream", ""
        for cut in cuts:
            if cut.item_id and not cut.lost:
                commands += self._send(messages.item_truncated(cut.item_id, cut.heard_s))
            commands += self._restored(cut)
            ended = notify.NotifyResponseEnded(
                cut.response_id, "cancelled", "turn_detected", cut.usage, interrupted_by=interrupted_by
            )
            commands += [] if cut.notified else [ended]
            for call in cut.when_played:  # they depended on speech that was not heard
                self._responses.running.discard(call.call_id)
                output = ToolOutputItem(self._new_id("item"), call.call_id, "not done: the caller went on")
                commands += items.add(self.history, output, self._connected)
        return commands + self._continue()

    def _restored(self, response: Response | Cut) -> list[Send]:
        """Send what was heard of a response to a new connection, if the connection that made it was lost."""
        if not (response.lost and response.text and response.item_id in self.history):
            return []
        return self._send(messages.item_created(self.history.get(response.item_id)))

    # ---- messages

    def _session_update(self) -> Event:
        return messages.session_update(self.settings, self._transcription, self._turns_claimed)

    def _send(self, event: Event) -> list[Send]:
        """Return the message if connected. A later connection gets the whole state anyway."""
        return [Send(event)] if self._connected else []

    def _to_backend(self, commands: Sequence[Action]) -> list[Action]:
        """Return the commands with all messages in the backend's form."""
        made: list[Action] = []
        for command in commands:
            if isinstance(command, Send):
                translated = self._api.outgoing(command.event)
                made += [one if isinstance(one, Wait) else Send(one) for one in translated]
            else:
                made.append(command)
        return made

    def _continue(self) -> list[Action]:
        """Continue with queued requests in silence. A full-duplex backend gets results at once."""
        running = bool(self._responses.running)
        if not self.quiet:
            return self._queue.next_answer(self._connected, running) if self._api.full_duplex else []
        return self._queue.next(self._connected, running)
