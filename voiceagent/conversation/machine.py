"""The turn machine: what happens in a call goes in as events, what is to be done comes out as commands.

Pure: no clock, no I/O, no tasks. At most one reply exists at a time, and everything it produces carries
its id, so what
comes late from a dead reply is nothing. The history holds what the caller said and what the caller heard.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llmcore.engine import Message
from voiceagent.conversation import commands as do
from voiceagent.conversation import events as ev
from voiceagent.conversation import notices as tell
from voiceagent.conversation.caller import Caller
from voiceagent.conversation.commands import Command
from voiceagent.conversation.history import History, Item, MessageItem
from voiceagent.conversation.item_requests import ItemRequest, carry_out
from voiceagent.conversation.prompt_history import PromptHistory
from voiceagent.conversation.replies import Replies
from voiceagent.conversation.reply_plan import make_prompt
from voiceagent.conversation.settings import CallSettings, TurnDetection
from voiceagent.conversation.turn_policy import TurnPolicy
from voiceagent.conversation.turns import CallerTurn, Reply
from voiceagent.conversation.words import normalise


class Conversation:
    """One call's turns. `rate_hz`: rate of the synthesizer's sound. `new_id`: makes ids with a prefix."""

    def __init__(
        self, settings: CallSettings, policy: TurnPolicy, rate_hz: int, new_id: Callable[[str], str]
    ) -> None:
        self.settings = settings
        self.history = History()
        self._policy = policy
        self._provisional_allowed = True
        self._new_id = new_id
        self._commands: list[Command] = []
        self._caller = Caller(self.history, policy, new_id, self._do)
        self._prompts = PromptHistory(policy.history)
        self._replies = Replies(self.history, self._prompts, rate_hz, new_id, self._do)
        self._requested: ev.ResponseRequested | None = None
        self._owed = False
        self._idled = 0
        self._leaving = False
        self._started = False

    @property
    def idle(self) -> bool:
        """Nobody speaks, and nothing is being made or awaited."""
        return self._caller.silent and self._requested is None and self._replies.current is None

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
            case ev.SpeechSustained():
                self._hold_playout()
            case ev.SpeechProlonged():
                self._confirm_interruption()
            case ev.SpeechPaused():
                self._speech_paused()
            case ev.SpeechResumed():
                self._speech_resumed()
            case ev.TurnEnded(at_s):
                self._turn_ended(at_s)
            case ev.TranscriptChanged():
                self._transcript_changed(event)
            case ev.TurnJudged(item_id, probability):
                self._turn_judged(item_id, probability)
            case ev.RecognitionFailed(item_id, reason):
                self._recognition_failed(item_id, reason)
            case ev.CallerIdle(at_s):
                self._caller_idle(at_s)
            case ev.FragmentReady() | ev.SpeechReady() | ev.FragmentSpoken():
                self._replies.take(event)
            case ev.ToolCallsReady() | ev.ReplyLate():
                self._replies.take(event)
            case ev.ProvisionalAllowed(allowed):
                self._provisional_allowed = allowed
            case ev.HistorySummarised(text):
                self._prompts.take(text)
            case ev.ReplyGenerated() | ev.ReplyFailed():
                self._reply_over(self._replies.take(event))
                self._summarise()  # the LLM is free while the sound is played
            case ev.PlayoutSent() | ev.PlayoutHeard() | ev.PlayoutStopped():
                self._reply_over(self._replies.take(event))
            case _:
                self._client_asks(event)
        if self.idle:
            self._replace_old_turns()
        return self._commands

    def _call_started(self, greeting: str) -> None:
        self._started = True
        self._do(tell.TellSettings(self.settings, created=True))
        if greeting:
            self._start_reply(ev.ResponseRequested(), say=greeting)

    def _caller_idle(self, at_s: float) -> None:
        """Ask again, with the next of the prompts; when there are no more, say goodbye and hang up."""
        if not self.idle:
            return
        self._do(tell.TellIdle(self._new_id("item"), at_s))
        prompts = self._policy.idle_prompts
        self._leaving = self._idled >= len(prompts)
        phrase = self._policy.goodbye if self._leaving else prompts[self._idled]
        self._start_reply(ev.ResponseRequested(), say=phrase)
        self._idled += 1

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
        reply = self._replies.active
        if self._caller.open is None and self._may_interrupt(reply):
            self._do(do.HoldPlayout() if self._caller.resumed(at_s, reply) else do.DuckPlayout())

    def _voice_faded(self) -> None:
        if self._caller.open is None and self._replies.active is not None:
            self._do(do.RestorePlayout())

    def _may_interrupt(self, reply: Reply | None) -> bool:
        detection = self._detection
        return (
            reply is not None
            and reply.interruptible
            and detection is not None
            and detection.interrupt_response
        )

    def _speech_started(self, at_s: float) -> None:
        if self._caller.open is not None:
            return
        if self._caller.silent:
            self._prompts.replace()
        detection, reply = self._detection, self._replies.active
        respond = detection is not None and detection.create_response
        turn = self._caller.start(at_s, respond, self._caller.resumed(at_s, reply))
        if reply is None or detection is None or not detection.interrupt_response:
            self._announce(turn)
            self._read_ahead(turn, "")
        elif reply.interruptible:
            self._do(do.HoldPlayout() if turn.resumes else do.DuckPlayout())

    def _announce(self, turn: CallerTurn) -> None:
        self._caller.announce(turn, by_voice=self._detection is not None)

    def _speech_paused(self) -> None:
        if self._caller.open is not None:
            self._caller.pause(self._caller.open, judge=self._semantic is not None)

    def _speech_resumed(self) -> None:
        if self._caller.open is not None:
            self._caller.resume(self._caller.open)
            self._replies.cancel_provisional()

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
                self._caller.tell_stable(turn, event.stable)
            if event.stable != turn.read and not turn.paused:
                self._read_ahead(turn, event.stable)
        if turn.settled and turn.ended_at_s is not None:
            self._conclude(turn)
        elif turn.settled:
            self._reply_provisionally(turn)
            self._require_silence(turn)

    def _turn_judged(self, item_id: str, probability: float) -> None:
        turn = self._caller.open
        if turn is not None and turn.item_id == item_id and turn.paused:
            turn.probability = probability
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
            if self._replies.speaking and self._caller.is_backchannel(turn):
                self._do(do.RestorePlayout())
                return
            self._announce(turn)
            self._caller.commit(turn, by_voice=True)
            self._yield_to(turn)
        kept = self._caller.conclude(turn, self.settings.transcribe)
        self._idled = 0
        self._owed = self._owed or (kept and turn.respond and bool(normalise(turn.text)))
        if turn.failure is not None and turn.respond and self._replies.active is None:
            self._replies.cancel_provisional()
            self._reply_over(self._replies.apologise_for(turn, self.settings))
        else:
            self._answer(turn)

    def _read_ahead(self, turn: CallerTurn, words: str) -> None:
        """Let the LLM read the history, and the words that are certain, while the caller speaks."""
        if turn.respond and self._policy.read_ahead:
            turn.read = words
            self._read([*self.history.items, MessageItem(turn.item_id, "user", words, spoken=True)], words)

    def _read(self, items: Sequence[Item], words: str = "") -> None:
        """Let the LLM read these items, which end in `words` of an unfinished turn."""
        unfinished = () if words else (Message("user", ""),)
        prompt = make_prompt(self.settings.instructions, self._prompts.messages(items) + unfinished)
        self._do(do.ReadAhead(prompt, self.settings.tools))

    # ---- the history in prompts

    def _summarise(self) -> None:
        """Have the oldest turns summarised if the history has outgrown its budget."""
        old = self._prompts.overdue(self.history.items)
        if old is not None:
            prompt = make_prompt(self.settings.instructions, old.prompt)
            self._do(do.Summarise(prompt, self.settings.tools, old.said, old.earlier, old.tokens))

    def _replace_old_turns(self) -> None:
        """Between two turns: a summary that has come takes its place, and is read before it is needed."""
        if self._prompts.replace() and self._policy.read_ahead:
            self._read(self.history.items)

    # ---- replies

    def _reply_provisionally(self, turn: CallerTurn) -> None:
        allowed = turn.provisional_attempts < self._policy.provisional_attempts and not self._caller.awaiting
        wanted = turn.announced and turn.respond and normalise(turn.text)
        if self._replies.current is None and self._provisional_allowed and allowed and wanted:
            turn.provisional_attempts += 1
            self._start_reply(ev.ResponseRequested(), turn, provisional=True)

    def _answer(self, turn: CallerTurn | None = None) -> None:
        """Start or release the reply that is wanted, if nothing stands in its way."""
        if not self._caller.silent or self._replies.active is not None:
            return
        held = self._replies.current
        fits = held is not None and turn is not None and held.turn_id == turn.item_id and held.fits(turn.text)
        if self._requested is None and self._owed and fits:
            self._owed = False
            self._replies.release()
            return
        self._replies.cancel_provisional()
        if self._requested is not None:
            request, self._requested = self._requested, None
            self._start_reply(request, turn)
        elif self._owed:
            self._start_reply(ev.ResponseRequested(), turn)

    def _start_reply(
        self,
        request: ev.ResponseRequested,
        turn: CallerTurn | None = None,
        provisional: bool = False,
        say: str = "",
    ) -> None:
        if request.in_conversation and not provisional:
            self._owed = False
        self._prompts.give_up()  # a summary in the making would only be in the reply's way
        self._replies.start(request, self.settings, self._policy, turn, provisional, say)

    def _hold_playout(self) -> None:
        """The voice over the agent goes on: stop and listen, ready to go on as well."""
        turn, reply = self._caller.open, self._replies.active
        if turn is not None and not turn.announced and reply is not None and reply.interruptible:
            self._do(do.HoldPlayout())

    def _confirm_interruption(self) -> None:
        """The voice over the agent is meant as an interruption."""
        turn, reply = self._caller.open, self._replies.active
        if turn is not None and not turn.announced and (reply is None or reply.interruptible):
            self._announce(turn)
            self._interrupt(turn)

    def _yield_to(self, turn: CallerTurn) -> None:
        """A turn was over before it was an interruption: its words may make it one, or be answered later."""
        reply = self._replies.active
        if reply is None or not reply.interruptible:
            return
        if self._caller.interrupts(turn):
            self._interrupt(turn)
        else:
            self._do(do.RestorePlayout())

    def _interrupt(self, turn: CallerTurn) -> None:
        """Cut the reply; one to a turn that was not over should not have begun, and is taken back."""
        reply = self._replies.active
        if reply is not None and turn.resumes is not None:
            reply.heard.take_back()
        self._stop_reply("turn_detected")

    def _stop_reply(self, reason: str, heard_s: float | None = None) -> None:
        self._reply_over(self._replies.stop(reason, heard_s))

    def _reply_over(self, reply: Reply | None) -> None:
        if reply is None:
            return
        if not reply.plan.own_prompt:
            self._prompts.observe(reply.plan.messages, reply.usage)
        if self._leaving and not reply.stop_reason:
            self._do(do.HangUp("the caller has been silent"))
        self._leaving = False
        if reply.stop_reason == "turn_detected" and reply.in_conversation and not reply.said:
            self._owed = True
        turn = self._caller.open
        if turn is not None and not turn.announced:
            self._do(do.RestorePlayout())
            self._announce(turn)
        if turn is not None and turn.settled:
            self._reply_provisionally(turn)
        self._answer()

    # ---- what the client asks for

    def _client_asks(self, event: ev.ClientRequest) -> None:
        match event:
            case ev.SettingsChanged(settings):
                self.settings = settings
                if self._started:  # before that, the client is told when the call starts
                    self._do(tell.TellSettings(settings))
            case ev.ResponseRequested():
                self._response_requested(event)
            case ev.ResponseCancelled():
                self._response_cancelled(event)
            case ev.InputCommitted():
                self._input_committed(event)
            case ev.InputCleared():
                self._input_cleared()
            case ev.OutputCleared():
                self._stop_reply("client_cancelled")
            case ev.KeyPressed(digit, received_at):
                self._do(tell.TellKeyPressed(digit, received_at))
            case _:
                self._item_requested(event)

    def _response_requested(self, event: ev.ResponseRequested) -> None:
        reply = self._replies.active
        if (reply is not None and not reply.told_end) or self._requested is not None:
            message = "a response is in progress; wait for response.done or cancel it first"
            code = "conversation_already_has_active_response"
            self._do(tell.TellError(code, message, client_event_id=event.client_event_id))
            return
        self._replies.cancel_provisional()
        if self._caller.awaiting or reply is not None:  # told to be over, but not yet heard to its end
            self._requested = event
        else:
            self._start_reply(event)

    def _response_cancelled(self, event: ev.ResponseCancelled) -> None:
        reply = self._replies.active
        if reply is None or reply.told_end or event.reply_id not in (None, reply.reply_id):
            which = "response" if event.reply_id is None else f"response {event.reply_id!r}"
            message = f"there is no {which} in progress to cancel"
            error = tell.TellError(
                "response_cancel_not_active", message, "response_id", event.client_event_id
            )
            self._do(error)
            return
        self._stop_reply("client_cancelled")

    def _input_committed(self, event: ev.InputCommitted) -> None:
        turn = self._caller.open
        if turn is None:
            message = "the input audio buffer is empty; append sound before committing it"
            code = "input_audio_buffer_commit_empty"
            self._do(tell.TellError(code, message, client_event_id=event.client_event_id))
            return
        turn.respond = False
        self._replies.cancel_provisional()
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
            self._replies.cancel_provisional()
            self._do(do.RestorePlayout())
        self._do(do.ClearInput(), tell.TellInputCleared())

    def _item_requested(self, event: ItemRequest) -> None:
        reply = self._replies.active
        playing = reply.item_id if reply is not None and reply.spoken and reply.in_history else None
        if isinstance(event, ev.ItemTruncated) and event.item_id == playing:
            self._stop_reply("client_cancelled", event.heard_s)
        else:
            self._do(*carry_out(event, self.history, self._replies.sounds))

    def _do(self, *commands: Command) -> None:
        self._commands.extend(commands)
