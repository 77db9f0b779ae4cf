"""State of a call whose core is a realtime backend.

The backend recognizes, answers and speaks; this keeps track of what the caller has heard, of the history, of
the agent's tools, and notifies the client. Events in, commands out, as in `voiceagent.conversation`; messages
for the backend are `Send` commands.
"""

from __future__ import annotations

from collections.abc import Callable

from audio.pcm import Samples
from llmcore.engine import Usage
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.history import History, HistoryLimits, MessageItem, ToolOutputItem
from voiceagent.conversation.item_requests import ItemRequest
from voiceagent.conversation.out_of_band import runs_out_of_band
from voiceagent.conversation.settings import CallSettings
from voiceagent.upstream import items, messages
from voiceagent.upstream.asking import Asking
from voiceagent.upstream.beside import BesideResponses
from voiceagent.upstream.messages import Event, Send, Wanted
from voiceagent.upstream.responses import Cut, Response, Responses


class UpstreamConversation:
    """State of one call.

    transcription: the backend's model for the caller's transcript. limits: maximum history from a client.
    new_id: creates ids.
    """

    def __init__(
        self,
        settings: CallSettings,
        transcription: str,
        limits: HistoryLimits,
        new_id: Callable[[str], str],
    ) -> None:
        self.settings = settings
        self.history = History()
        self._transcription = transcription
        self._limits = limits
        self._new_id = new_id
        self._responses, self._beside = Responses(self.history), BesideResponses()
        self.heard = self._responses.heard
        self._asking = Asking()
        self._started = self._connected = self._speaking = self._claimed = False

    @property
    def caller_speaks(self) -> bool:
        """True if the backend has reported that the caller speaks."""
        return self._speaking

    @property
    def quiet(self) -> bool:
        """True while neither side speaks; tools may run."""
        return not (self._speaking or self._responses or self._asking.awaited)

    @property
    def usages(self) -> dict[str, Usage]:
        """Usage of each response in progress, as far as the backend has reported it."""
        return self._responses.usages()

    # ---- the connection

    def connected(self) -> list[Wanted]:
        """Send the settings and the history to a new connection, which knows neither."""
        self._connected = True
        told = (item for item in self.history.items if not isinstance(item, MessageItem) or item.text)
        said = [Send(messages.item_created(item)) for item in told]
        return [self._update(), *said, *self._beside.asked_again(), *self._go_on()]

    def lost(self) -> list[Wanted]:
        """Handle the loss of the connection.

        Audio received so far is played; a response without any is requested again.
        """
        self._connected = self._speaking = False
        reason = "the connection to the upstream was lost"
        commands = self._beside.lost(reason)
        unfinished = self._responses.lost()
        self._asking.lost(any(response.sound_s == 0 for response in unfinished))
        for response in unfinished:
            failed = notify.NotifyResponseEnded(response.response_id, "failed", reason)
            commands += self._responses.ended(response, failed)
        return commands

    def give_up(self, apology: str, sound: Samples) -> list[Wanted]:
        """Play the apology and end the call: no backend is available any more.

        sound: the apology, [n] at `UPSTREAM_HZ`.
        """
        response_id, item_id = self._new_id("resp"), self._new_id("item")
        place = {"response_id": response_id, "item_id": item_id}
        said = {"type": "response.output_audio_transcript.delta", **place, "delta": apology}
        self._asking.give_up("the upstream was given up")
        commands = self._responses.begin({"id": response_id})
        commands += self._of_response(said["type"], said)
        commands += self._responses.play(response_id, sound)
        response = self._responses.get(response_id)
        assert response is not None
        ended = notify.NotifyResponseEnded(response_id, "completed")
        return [*commands, *self._responses.ended(response, ended), *self._go_on()]

    # ---- events of the call

    def handle(self, event: ev.Event) -> list[Wanted]:
        """Handle an event of the call."""
        match event:
            case ev.CallStarted(greeting):
                self._started = True
                if greeting:
                    self._asking.say(messages.words_said(greeting))
                return [notify.NotifySettings(self.settings, created=True), *self._go_on()]
            case ev.PlayoutSent(response_id):
                return self._responses.sent(response_id)
            case ev.PlayoutPlayed(response_id):
                response = self._responses.get(response_id)
                if response is None:
                    return []
                played = self._responses.played(response)
                return [*played, *self._recalled(response), *self._go_on()]
            case ev.PlayoutStopped(response_id, played_s):
                return self._stopped(response_id, played_s)
            case ev.CallerGone(response_id, played_s):
                self._stopped(response_id, played_s)
                return []  # the caller has hung up
            case _ if isinstance(event, ev.AgentEvent):
                return self._agent_acts(event)
            case _ if isinstance(event, ItemRequest):
                return items.carry_out(event, self.history, self._limits, self._connected)
            case _ if isinstance(event, ev.ClientRequest):
                return self._client_asks(event)
            case _:
                return []

    def _agent_acts(self, event: ev.AgentEvent) -> list[Wanted]:
        match event:
            case ev.AgentChanged(agent, tools, instructions, voice):
                self.settings = self.settings.handed_to(agent, tools, instructions, voice)
                return self._updated()
            case ev.TurnsClaimed(claimed):
                self._claimed = claimed
                return self._updated()
            case ev.SpeechRequested(text):
                self._asking.say(messages.words_said(text))
            case ev.ReplyRequested(guidance):
                self._asking.say(messages.reply_guided(f"{self.settings.instructions}\n\n{guidance}"))
            case ev.HangUpRequested(reason):
                self._asking.leave(reason)
            case ev.ToolFinished(call_id, _, output, reply):
                self._responses.running.discard(call_id)
                item = ToolOutputItem(self._new_id("item"), call_id, output)
                if reply:
                    self._asking.owe()
                return [*items.add(self.history, item, self._connected), *self._go_on()]
            case _:
                return []
        return self._go_on()

    def _client_asks(self, request: ev.ClientRequest) -> list[Wanted]:
        match request:
            case ev.SettingsChanged(settings) if settings.only_transcribes:
                message = "calls go to an upstream here; there are no transcription sessions"
                return [notify.NotifyError("invalid_value", message, "session.type")]
            case ev.SettingsChanged(settings):
                self.settings = settings
                told = [notify.NotifySettings(settings)] if self._started else []
                return [do.ConfigureSpeaking(settings), *self._updated(), *told]
            case ev.ResponseRequested():
                return self._requested(request)
            case ev.ResponseCancelled():
                return self._cancelled(request)
            case ev.OutputCleared():
                return self._cut(cancel=True)
            case ev.InputCommitted():
                return [Send({"type": "input_audio_buffer.commit"})]  # queued after the audio before it
            case ev.InputCleared():
                return [Send({"type": "input_audio_buffer.clear"})]
            case ev.KeyPressed(digit, received_at):
                return [notify.NotifyKeyPressed(digit, received_at)]
            case _:
                return []

    def _requested(self, request: ev.ResponseRequested) -> list[Wanted]:
        """Handle a client's request for a response.

        Without parameters it waits until neither side speaks; otherwise the backend accepts or refuses it.
        """
        if request == ev.ResponseRequested(client_event_id=request.client_event_id):
            self._asking.owe()
            return self._go_on()
        wanted = messages.response_created(request)
        if runs_out_of_band(request, self.settings):
            return self._beside.ask(wanted, self._connected)
        if self._connected:
            return self._asking.ask(wanted)
        return [] if self._asking.wish(wanted) else [notify.response_in_progress(request.client_event_id)]

    def _cancelled(self, request: ev.ResponseCancelled) -> list[Wanted]:
        """Cancel a response. An unknown id cancels none: that response may just have ended."""
        response_id = request.response_id
        if response_id in self._beside:
            return [*self._send({"type": "response.cancel", "response_id": response_id})]
        if response_id is None and self._asking.awaited and not self._responses:  # the request is in flight
            return [*self._send({"type": "response.cancel"})]
        known = self._responses.playing if response_id is None else self._responses.get(response_id)
        if known is None:
            return [notify.nothing_to_cancel(response_id, request.client_event_id)]
        return self._cut(cancel=True)

    # ---- events of the upstream

    def take(self, event: Event) -> list[Wanted]:
        """Handle an event of the backend. Raises KeyError, TypeError or ValueError if it is invalid."""
        kind = event["type"]
        if kind.startswith("response."):
            return self._of_response(kind, event)
        if kind.startswith("conversation.item.input_audio_transcription."):
            told = items.transcribed(self.history, kind.rpartition(".")[2], event)
            wordless = kind.endswith(".completed") and not any(
                isinstance(one, do.TurnConcluded) for one in told
            )
            return told + self._go_on() if wordless else told  # the backend does not answer it
        match kind:
            case "input_audio_buffer.speech_started":
                self._speaking = True
                detection = self.settings.turn_detection
                yields = detection is None or detection.interrupt_response
                start_s = event["audio_start_ms"] / 1000  # includes the padding
                began = notify.NotifySpeechStarted(event["item_id"], start_s, not_before_s=start_s)
                return [began, *(self._cut(cancel=False) if yields else ())]
            case "input_audio_buffer.speech_stopped":
                self._speaking = False
                end_s = event["audio_end_ms"] / 1000  # includes the silence
                return [notify.NotifySpeechStopped(event["item_id"], end_s, sound_end_s=end_s)]
            case "input_audio_buffer.committed":
                return [notify.NotifyInputCommitted(event["item_id"], event.get("previous_item_id"))]
            case "input_audio_buffer.timeout_triggered":
                return [notify.NotifyIdle(event["item_id"], event["audio_end_ms"] / 1000)]
            case "input_audio_buffer.cleared":
                return [notify.NotifyInputCleared()]
            case "conversation.item.added" | "conversation.item.created" | "conversation.item.done":
                return items.spoken(self.history, kind, messages.read_item(event["item"]))
            case "error":
                return self._refused(event["error"])
            case _:
                return []

    def _of_response(self, kind: str, event: Event) -> list[Wanted]:
        if kind == "response.created" and messages.is_beside(event["response"]):
            return self._beside.begin(event["response"])
        if messages.response_id_of(event) in self._beside:
            return self._beside.take(kind, event)
        if kind == "response.created":
            self._asking.begun()
            return self._responses.begin(event["response"])
        return [*self._responses.take(kind, event, self.settings.agent_tools), *self._go_on()]

    def _refused(self, error: Event) -> list[Wanted]:
        """Handle an error from the backend."""
        event_id, code = error.get("event_id"), error.get("code") or error.get("type") or "upstream_error"
        busy = code == notify.RESPONSE_IN_PROGRESS
        if not self._beside.refused(event_id) and self._asking.refused(event_id, busy):
            return []
        return [notify.NotifyError(code, str(error.get("message")), error.get("param"))]

    def _cut(self, cancel: bool) -> list[Wanted]:
        """Stop playout. cancel: also stop the backend, which is still generating and does not know."""
        playing = self._responses.playing
        if playing is None:
            return []
        made = cancel and playing.ended is None
        cancelled = self._send({"type": "response.cancel"}) if made else []
        return [*cancelled, do.StopPlayout(playing.response_id)]

    def _stopped(self, response_id: str, played_s: float) -> list[Wanted]:
        """Handle a response cut after `played_s` seconds."""
        response = self._responses.get(response_id)
        if response is None:
            return []
        cuts, commands = self._responses.stopped(response, played_s)
        for cut in cuts:
            if cut.item_id and not cut.lost:
                commands += self._send(messages.item_truncated(cut.item_id, cut.heard_s))
            commands += self._recalled(cut)
            ended = notify.NotifyResponseEnded(cut.response_id, "cancelled", "turn_detected", cut.usage)
            commands += [] if cut.told else [ended]
            for call in cut.when_played:  # they depended on speech that was not heard
                self._responses.running.discard(call.call_id)
                output = ToolOutputItem(self._new_id("item"), call.call_id, "not done: the caller went on")
                commands += items.add(self.history, output, self._connected)
        return commands + self._go_on()

    def _recalled(self, response: Response | Cut) -> list[Send]:
        """Send what was heard of a response to a new connection, if the connection that made it was lost."""
        if not (response.lost and response.text and response.item_id in self.history):
            return []
        return self._send(messages.item_created(self.history.get(response.item_id)))

    # ---- messages

    def _updated(self) -> list[Wanted]:
        return [self._update()] if self._connected else []

    def _update(self) -> Send:
        return Send(messages.session_update(self.settings, self._transcription, self._claimed))

    def _send(self, event: Event) -> list[Send]:
        """Return the message if connected. A later connection gets the whole state anyway."""
        return [Send(event)] if self._connected else []

    def _go_on(self) -> list[Wanted]:
        """Continue with queued requests if neither side speaks."""
        if not self.quiet:
            return []
        return self._asking.next(self._connected, bool(self._responses.running))
