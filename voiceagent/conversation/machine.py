"""The turn machine: what happens in a call goes in as events, what is to be done comes out as commands.

Pure: no clock, no I/O, no tasks. At most one response exists at a time, and everything it produces carries
its id, so what comes late from a dead response is nothing. The history holds what the caller said and heard.
"""

from __future__ import annotations

from collections.abc import Callable

from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notifications as notify
from voiceagent.conversation.answers import Answers
from voiceagent.conversation.caller import Caller
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History
from voiceagent.conversation.item_requests import ItemRequest, carry_out
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, Response


class Conversation:
    """One call's turns. `rate_hz`: rate of the synthesizer's sound. `new_id`: makes ids with a prefix."""

    def __init__(
        self, settings: CallSettings, policy: TurnPolicy, rate_hz: int, new_id: Callable[[str], str]
    ) -> None:
        self.history = History()
        self._commands: list[Command] = []
        self._caller = Caller(self.history, policy, new_id, self._do)
        self._answers = Answers(settings, policy, self.history, self._caller, rate_hz, new_id, self._do)
        self._responses = self._answers.responses
        self._started = False

    @property
    def idle(self) -> bool:
        """Nobody speaks, and nothing is being made or awaited."""
        return self._answers.idle

    @property
    def settings(self) -> CallSettings:
        """Of the call, as they are now."""
        return self._answers.settings

    def handle(self, event: ev.Event) -> list[Command]:
        """Take one event in; returns what is to be done now, in order."""
        self._commands = []
        match event:
            case ev.CallStarted(greeting):
                self._call_started(greeting)
            case ev.VoiceNoticed(at_s):
                self._voice_noticed(at_s)
            case ev.VoiceFaded():
                self._voice_faded()
            case ev.SpeechStarted(at_s):
                self._speech_started(at_s)
            case ev.InterruptionCandidate():
                self._hold_playout()
            case ev.InterruptionConfirmed():
                self._confirm_interruption()
            case ev.SpeechPaused(at_s):
                self._speech_paused(at_s)
            case ev.SpeechResumed():
                self._speech_resumed()
            case ev.TurnEnded(at_s):
                self._turn_ended(at_s)
            case ev.TranscriptChanged():
                self._transcript_changed(event)
            case ev.TurnJudged() | ev.PitchJudged():
                self._turn_judged(event)
            case ev.RecognitionFailed(item_id, reason):
                self._recognition_failed(item_id, reason)
            case ev.CallerIdle(at_s):
                self._answers.caller_idle(at_s)
            case ev.FragmentReady() | ev.SpeechReady() | ev.FragmentSpoken():
                self._responses.take(event)
            case ev.ToolCallsReady() | ev.ResponseLate():
                self._responses.take(event)
            case ev.PreemptiveAllowed(allowed):
                self._answers.preemptive_allowed = allowed
            case ev.HistorySummarised(text):
                self._answers.prompts.take(text)
            case ev.ResponseGenerated() | ev.ResponseFailed():
                self._answers.over(self._responses.take(event))
                self._answers.summarise()  # the LLM is free while the sound is played
            case ev.PlayoutSent() | ev.PlayoutPlayed() | ev.PlayoutStopped():
                self._answers.over(self._responses.take(event))
            case _:
                self._client_asks(event)
        if self.idle:
            self._answers.replace_old_turns()
        return self._commands

    def _call_started(self, greeting: str) -> None:
        self._started = True
        self._do(notify.NotifySettings(self.settings, created=True))
        if greeting:
            self._answers.start(ev.ResponseRequested(), say=greeting)

    # ---- the caller

    @property
    def _detection(self) -> TurnDetection | None:
        return self.settings.turn_detection

    @property
    def _semantic(self) -> TurnDetection | None:
        detection = self._detection
        return detection if detection is not None and detection.kind == "semantic_vad" else None

    def _voice_noticed(self, at_s: float) -> None:
        """Step back at once for what may be a voice: it costs nothing to go on if it is none."""
        response = self._responses.active
        if self._caller.open is None and self._may_interrupt(response):
            self._do(do.HoldPlayout() if self._caller.resumed(at_s, response) else do.DuckPlayout())

    def _voice_faded(self) -> None:
        if self._caller.open is None and self._responses.active is not None:
            self._do(do.RestorePlayout())

    def _may_interrupt(self, response: Response | None) -> bool:
        detection = self._detection
        return (
            response is not None
            and response.interruptible
            and detection is not None
            and detection.interrupt_response
        )

    def _speech_started(self, at_s: float) -> None:
        if self._caller.open is not None:
            return
        if self._caller.silent:
            self._answers.prompts.replace()
        detection, response = self._detection, self._responses.active
        respond = detection is not None and detection.create_response
        turn = self._caller.start(at_s, respond, self._caller.resumed(at_s, response))
        if response is None or detection is None or not detection.interrupt_response:
            self._announce(turn)
            self._answers.prefill_while_speaking(turn, "")
        elif response.interruptible:
            self._do(do.HoldPlayout() if turn.resumes else do.DuckPlayout())

    def _announce(self, turn: CallerTurn) -> None:
        self._caller.announce(turn, by_voice=self._detection is not None)

    def _speech_paused(self, at_s: float) -> None:
        if self._caller.open is not None:
            self._caller.pause(self._caller.open, at_s, judge=self._semantic is not None)

    def _speech_resumed(self) -> None:
        if self._caller.open is not None:
            self._caller.resume(self._caller.open)
            self._responses.cancel_preemptive()

    def _turn_ended(self, at_s: float) -> None:
        turn = self._caller.open
        if turn is None:
            return
        self._caller.end(turn, at_s)
        if turn.announced:
            self._caller.commit(turn, by_voice=True)
        if turn.settled:
            self._conclude(turn)

    def _transcript_changed(self, event: ev.TranscriptChanged) -> None:
        turn = self._caller.hypothesis(event)
        if turn is None:
            return
        if not turn.announced and self._caller.interrupts(turn):
            self._confirm_interruption()
        if turn.announced:
            if self.settings.transcribe:
                self._caller.notify_stable(turn, event.stable)
            if event.stable != turn.read and not turn.paused:
                self._answers.prefill_while_speaking(turn, event.stable)
        if turn.settled and turn.ended_at_s is not None:
            self._conclude(turn)
        elif turn.settled:
            self._answers.prepare(turn)
            self._require_silence(turn)

    def _turn_judged(self, event: ev.TurnJudged | ev.PitchJudged) -> None:
        turn = self._caller.open
        if turn is not None and turn.item_id == event.item_id and turn.paused:
            if isinstance(event, ev.TurnJudged):
                turn.probability = event.probability
            else:
                turn.falls = event.falls
            if turn.settled:
                self._require_silence(turn)

    def _require_silence(self, turn: CallerTurn) -> None:
        if self._semantic is not None:
            self._caller.require_silence(turn, self._semantic)

    def _recognition_failed(self, item_id: str, reason: str) -> None:
        turn = self._caller.failed(item_id, reason)
        if turn is not None and turn.ended_at_s is not None:
            self._conclude(turn)

    def _conclude(self, turn: CallerTurn) -> None:
        """The turn is over and its words are settled."""
        self._caller.forget(turn)
        if not turn.announced:
            if self._responses.speaking and self._caller.is_backchannel(turn):
                self._do(do.RestorePlayout())
                return
            self._announce(turn)
            self._caller.commit(turn, by_voice=True)
            self._yield_to(turn)
        kept = self._caller.conclude(turn, self.settings.transcribe)
        self._answers.turn_over(turn, kept)

    # ---- responses

    def _hold_playout(self) -> None:
        """The voice over the agent goes on: stop and listen, ready to go on as well."""
        turn, response = self._caller.open, self._responses.active
        if turn is not None and not turn.announced and response is not None and response.interruptible:
            self._do(do.HoldPlayout())

    def _confirm_interruption(self) -> None:
        """The voice over the agent is meant as an interruption."""
        turn, response = self._caller.open, self._responses.active
        if turn is not None and not turn.announced and (response is None or response.interruptible):
            self._announce(turn)
            self._interrupt(turn)

    def _yield_to(self, turn: CallerTurn) -> None:
        """A turn was over before it was an interruption: its words may make it one, or be answered later."""
        response = self._responses.active
        if response is None or not response.interruptible:
            return
        if self._caller.interrupts(turn):
            self._interrupt(turn)
        else:
            self._do(do.RestorePlayout())

    def _interrupt(self, turn: CallerTurn) -> None:
        """Cut the response; one to a turn that was not over should not have begun, and is taken back."""
        response = self._responses.active
        if response is not None and turn.resumes is not None:
            response.heard.disregard()
        self._answers.stop("turn_detected")

    # ---- what the client asks for

    def _client_asks(self, event: ev.ClientRequest) -> None:
        match event:
            case ev.SettingsChanged(settings):
                self._answers.settings = settings
                if self._started:  # before that, the client is told when the call starts
                    self._do(notify.NotifySettings(settings))
                self._do(do.ConfigureListening(settings), do.ConfigureSpeaking(settings))
            case ev.ResponseRequested():
                self._answers.request(event)
            case ev.ResponseCancelled():
                self._answers.cancel(event)
            case ev.InputCommitted():
                self._input_committed(event)
            case ev.InputCleared():
                self._input_cleared()
            case ev.OutputCleared():
                self._answers.stop("client_cancelled")
            case ev.KeyPressed(digit, received_at):
                self._do(notify.NotifyKeyPressed(digit, received_at))
            case _:
                self._item_requested(event)

    def _input_committed(self, event: ev.InputCommitted) -> None:
        turn = self._caller.open
        if turn is None:
            message = "the input audio buffer is empty; append sound before committing it"
            code = "input_audio_buffer_commit_empty"
            self._do(notify.NotifyError(code, message, client_event_id=event.client_event_id))
            return
        turn.respond = False
        self._responses.cancel_preemptive()
        if not turn.announced:
            turn.announced = True
            self._do(do.RestorePlayout())
        self._caller.end(turn, turn.started_at_s + event.buffered_s)
        self._caller.commit(turn, by_voice=False)
        self._do(do.ClearInput())
        if turn.settled:
            self._conclude(turn)

    def _input_cleared(self) -> None:
        if self._caller.open is not None:
            self._caller.forget(self._caller.open)
            self._responses.cancel_preemptive()
            self._do(do.RestorePlayout())
        self._do(do.ClearInput(), notify.NotifyInputCleared())

    def _item_requested(self, event: ItemRequest) -> None:
        response = self._responses.active
        playing = (
            response.item_id if response is not None and response.spoken and response.in_history else None
        )
        if isinstance(event, ev.ItemTruncated) and event.item_id == playing:
            self._answers.stop("client_cancelled", event.played_s)
        else:
            self._do(*carry_out(event, self.history, self._responses.sounds))

    def _do(self, *commands: Command) -> None:
        self._commands.extend(commands)
